// What the script says, in the page's language. English is written where it is said: tr("step {0}", number). Of another language
// the program gives the words with the data, from reports/words; tests/check_words.py finds sentences without a translation.

let words: Record<string, string> = {};

export function useWords(given: Record<string, string> | undefined): void {
  words = given ?? {};
}

export function tr(english: string, ...values: (string | number)[]): string {
  return (words[english] ?? english).replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));
}

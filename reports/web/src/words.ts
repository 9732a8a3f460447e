// Words of the script in the page's language. The source has the English text: tr("step {0}",
// number). The program adds the words of another language to the data, from reports/words;
// tests/check_words.py finds sentences without a translation.

let words: Record<string, string> = {};

export function useWords(given: Record<string, string> | undefined): void {
  words = given ?? {};
}

export function tr(english: string, ...values: (string | number)[]): string {
  return (words[english] ?? english).replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)]));
}

// The data that the program wrote into the page (reports/html/page_data.h). Times are ns since the run's first event.

export interface Part {
  key: string;
  label: string;
  idle: boolean;
}

export interface StepsOfDevice {
  device: string;
  first: number[]; // step numbers; several steps may share a bar
  last: number[];
  parts: Record<string, number[]>; // ns, by Part.key
  names?: string[]; // of the bars, where each is another device
}

// The critical path in each step; its parts look like those of a step.
export interface Path {
  parts: Part[];
  steps: StepsOfDevice;
}

export interface MemoryOfDevice {
  device: string;
  capacity: number | null;
  end: number;
  times: number[];
  reserved: number[];
  purposes: Record<string, number[]>;
}

export interface Bandwidth {
  op: string;
  communicator: string;
  points: [number, number][]; // bytes, GB/s
  fit: [number, number][];
}

export interface TimelineView {
  id: string;
  title: string;
  begin: number;
  length: number;
  rows: number[];
  spans: number[]; // flat: row, begin since the view's, length, class, name, count
}

export interface Timeline {
  rows: string[];
  names: string[];
  devicesLeftOut: number;
  views: TimelineView[];
}

// A row a device, a column a step or neighbouring ones; less than 0: the device has none of them.
export interface WaitMap {
  devices: string[];
  first: number[];
  last: number[];
  ns: number[][];
}

export interface Data {
  perStep: boolean;
  parts: Part[];
  steps: StepsOfDevice[];
  path: Path | null;
  memory: MemoryOfDevice[];
  bandwidth: Bandwidth[];
  waits: { device: string; ns: number }[];
  waitMap: WaitMap | null;
  timeline: Timeline;
}

// [value, low, high] of a 95 % interval; without one low and high are null.
export type Bounded = [number, number | null, number | null];

// The scaling report (reports/html/scaling_data.cpp). Times are ns.
export interface ScalingPoint {
  devices: number;
  runs: number;
  step: Bounded;
  ideal: number; // the step if it scaled like the work
  throughput: Bounded;
  speedup: Bounded;
  efficiency: Bounded;
  factors: Record<"parallel" | "load_balance" | "comm_eff" | "orchestration" | "computation", number>;
  parts: number[]; // beside Scaling.parts
}

export interface ScalingLoss {
  from: number;
  to: number;
  ideal: number;
  step: number;
  parts: { label: string; colour: string; ns: number }[];
}

export interface ScalingFit {
  label: string;
  best: boolean;
  line: [number, number, number | null, number | null][]; // devices, efficiency, low, high
}

export interface Scaling {
  unit: string; // of throughput
  parts: Part[];
  points: ScalingPoint[];
  losses: ScalingLoss[];
  fits: ScalingFit[];
  replayed: Omit<ScalingFit, "best"> | null; // what the replay of one run predicts
}

// A page is of a run or of a scaling series.
export interface Page extends Data {
  scaling: Scaling;
  words?: Record<string, string>; // of a page that is not English: English → what is said
}

export function readData(): Page {
  return JSON.parse(document.getElementById("data")?.textContent ?? "") as Page;
}

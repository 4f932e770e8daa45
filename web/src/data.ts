/**
 * The data of the page, as `crates/present/report/src/html/model.rs` writes them. Strings are numbers into `strings`,
 * and a column of numbers has a row per frame, node or site.
 */

export interface Data {
  heapwise: string;
  command: string;
  /** How it ended, and how long it took. */
  ending: string;
  duration_ns: number;
  interception: string;
  allocators: string[];
  n_processes: number;
  /** Null if every block was recorded. */
  sampling: Sampling | null;
  totals: Totals;
  /** Bytes and blocks that were live when the file began; null unless it goes on with a recording. */
  carried: [number, number] | null;
  peak_rss: number;
  /** What that says about the heap. */
  rss_note: string;
  peak_live_at_ns: number;
  captures: number;
  cut_captures: number;
  caveats: { blind: boolean; what: string; hint: string }[];
  verdict: { kind: string; sentence: string; remedy: string } | null;
  moments: Moment[];
  /** Empty unless there are several. */
  by_allocator: OfAllocator[];
  pages: Pages | null;
  curves: { step_ns: number; live: number[]; rss: (number | null)[] };
  /** The program's marks and spans, or null if it has none. */
  marks: Marks | null;
  /** `[from bytes, to bytes, allocations and reallocations, bytes]` of each class of sizes, ascending. */
  sizes: [number, number, number, number][];
  findings: Finding[];
  /** Findings that save enough to begin with, by their places among all. */
  worth: number[];
  /** What to say if none does, or there are none; it may be empty. */
  nothing: string;
  /** Where to look if there are no findings. */
  standouts: Standout[];
  /** What to say of that where something was not recorded, or null. */
  only_recorded: string | null;
  strings: string[];
  frames: Frames;
  nodes: { up: number[]; frame: number[] };
  sites: Sites;
  sources: Excerpt[];
  lines: Lines;
  /** The files whose lines are in the page, as the recording names them. */
  source_files: string[];
  threads: Thread[];
  /** `[allocated by, freed by, blocks]`, or null where it was not counted. */
  thread_matrix: [number, number, number][] | null;
}

/** A place, and what it stands out with. */
export interface Standout {
  /** Its sites: at least one. */
  sites: number[];
  /** Each with the name of its measure: `["allocations", "makes 31 % of all allocations (48,201)"]`. */
  facts: [string, string][];
}

/** Of a recording that holds a sample of the blocks: all amounts are estimates. */
export interface Sampling {
  /** At most so many bytes lie between two recorded blocks. */
  every: number;
  /** How far the truth may be from the totals, as in `± 6.3 %`. */
  allocations: string;
  bytes: string;
  peak_bytes: string;
  exit_bytes: string;
}

export interface Totals {
  allocations: number;
  reallocations: number;
  deallocations: number;
  bytes: number;
  peak_bytes: number;
  peak_blocks: number;
  exit_bytes: number;
  exit_blocks: number;
  never_freed_bytes: number;
  temporary: number;
  failed: number;
  lost: number;
}

/** Resident memory at a moment: what heapwise.report/1 has of it. The parts add up to `rss_bytes`. */
export interface Moment {
  label: string;
  time_ns: number;
  pid: number | null;
  rss_bytes: number;
  live_bytes: number;
  internal_fragmentation_bytes: number;
  external_fragmentation_bytes: number;
  free_pages_bytes: number;
  metadata_bytes: number;
  before_bytes: number;
  unrecorded_bytes: number;
  not_heap_bytes: number;
  unaccounted_bytes: number;
  huge_pages_bytes: number;
  live_not_resident_bytes: number;
}

/** What one of several allocators has. */
export interface OfAllocator {
  name: string;
  allocations: number;
  allocated_bytes: number;
  peak_live_bytes: number;
  live_at_exit_bytes: number;
  at_peak: AllocatorParts;
  at_end: AllocatorParts;
}

export interface AllocatorParts {
  live_bytes: number;
  internal_fragmentation_bytes: number;
  external_fragmentation_bytes: number;
  free_pages_bytes: number;
  metadata_bytes: number;
}

export interface Marks {
  /** `[time, name, thread, live bytes]` of each mark that is no part of a span, by time. */
  points: [number, number, number, number][];
  /** `[begin, end, name, thread]` of spans; the end is null if it was not seen. */
  bars: [number, number | null, number, number][];
  not_listed: number;
  spans: Span[];
}

/** All spans of one name. */
export interface Span {
  name: number;
  count: number;
  time_ns: number;
  longest_ns: number;
  allocations: number;
  bytes: number;
  growth: number;
  unended: number;
  unbegun: number;
}

/** Cells are bytes in base64: 0 to 254 is the share in use, 255 is not resident. */
export interface Pages {
  time_ns: number;
  cell: number;
  resident_bytes: number;
  empty_bytes: number;
  /** In use, but a quarter at most. */
  sparse_bytes: number;
  /** The mean share of resident cells that is in use, from 0 to 1. */
  used: number;
  regions: { address: string; cells: string }[];
}

export interface Finding {
  id: string;
  severity: string;
  certainty: string;
  title: string;
  site: number | null;
  sites: number[];
  evidence: string[];
  allocations: number;
  reallocations: number;
  bytes: number;
  peak_bytes: number;
  time_ns: number;
  remedy: string;
}

export interface Frames {
  name: number[];
  function: number[];
  file: number[];
  path: number[];
  line: number[];
  module: number[];
  owner: number[];
  inlined: number[];
}

export interface Sites {
  node: number[];
  user: number[];
  allocations: number[];
  bytes: number[];
  reallocations: number[];
  temporary: number[];
  peak_bytes: number[];
  peak_blocks: number[];
  exit_bytes: number[];
  exit_blocks: number[];
  other_thread: number[];
  failed: number[];
  p50: number[];
  p99: number[];
  /** Nanoseconds that the calls are estimated to take. */
  estimate: number[];
  time: number[];
  pinned: number[];
  /** Recorded requests; empty unless the recording is a sample. */
  samples: number[];
}

export interface Excerpt {
  frame: number;
  first: number;
  lines: string[];
  changed: boolean;
}

/** The texts of files that allocate. */
export interface Lines {
  files: SourceText[];
  /** Files that allocate and are not among these. */
  left_out: number;
}

export interface SourceText {
  /** Its path, as the frames have it. */
  file: number;
  /** Why it has no text; empty if it has. */
  absent: string;
  /** The number of its lines; 0 without a text. */
  length: number;
  /** The number of the first line of each part, and its lines. */
  parts: [number, string[]][];
}

export interface Thread {
  index: number;
  name: number;
  tid: number;
  pid: number | null;
  allocations: number;
  bytes: number;
  peak_bytes: number;
  exit_bytes: number;
  freed_elsewhere: number;
}

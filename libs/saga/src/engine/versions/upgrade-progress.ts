/** The pause after a sweep that moved nothing doubles up to this many polls. */
const LONGEST_PAUSE = 64;
/** The pause is also at least this many times as long as the sweep, in turns. */
const REST = 4;

/** How far the sweep over the instances of the versions that a target upgrades from is; stored for all processes. */
export interface UpgradeProgress {
  /** The version whose instances come next; undefined: a sweep begins. */
  readonly from?: number;
  /** The page that comes next; undefined: the first. */
  readonly next?: string;
  /** Turns of this sweep. */
  readonly turns: number;
  /** Instances that this sweep has moved. */
  readonly moved: number;
  /** Sweeps before this one, without a break, that moved nothing. */
  readonly idle: number;
}

export function readProgress(text: string | undefined): UpgradeProgress {
  return text === undefined ? { turns: 0, moved: 0, idle: 0 } : (JSON.parse(text) as UpgradeProgress);
}

/** What is stored after a sweep has reached its end: the next one begins anew. */
export function sweepEnded({ moved, idle }: UpgradeProgress): UpgradeProgress {
  return { turns: 0, moved: 0, idle: moved > 0 ? 0 : idle + 1 };
}

/** Polls until the next turn. @param done the progress when the turn ended, before `sweepEnded` */
export function pauseAfter(done: UpgradeProgress, ended: boolean): number {
  if (!ended || done.moved > 0) return 1;
  return Math.max(Math.min(LONGEST_PAUSE, 2 ** (done.idle + 1)), REST * done.turns);
}

/** What a run of one fault came to. */
export interface Figures {
  readonly fault: string;
  /** The date of the run: YYYY-MM-DD. */
  readonly date: string;
  readonly minutes: number;
  readonly injections: number;
  /** Starts that were acknowledged. */
  readonly sagas: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  readonly stuck: number;
  /** Milliseconds. */
  readonly recoveryMedian: number;
  readonly recoveryMax: number;
}

export function isClean({ lost, doubled, wrong, stuck }: Figures): boolean {
  return lost + doubled + wrong + stuck === 0;
}

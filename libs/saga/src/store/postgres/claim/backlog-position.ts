/** So long (ms) claims begin where the one before ended. Then one begins at the beginning again. */
const LOOK_BACK = 250;
/** A claim of fewer sagas is of no long backlog: the next one begins at the beginning. */
const DEEP = 100;
/** The place is a time in milliseconds, and ranks have microseconds. */
const ROUNDED = 1;

/** What a claim has come to. */
export interface PositionedClaim {
  /** Where it began. */
  readonly from: number | undefined;
  readonly limit: number;
  readonly taken: number;
  /** The rank of the last saga that it took. Null: some before that one were left. */
  readonly last: number | null;
}

/**
 * Where the claims of a long backlog begin. Sagas that were taken have left the index, but PostgreSQL keeps their entries
 * until a vacuum: claims that begin at the beginning read all of them each time, and get slower as the backlog gets shorter,
 * much slower if an old transaction is open. What comes in before this place, because it is urgent or was locked,
 * is found by the next claim from the beginning.
 */
export class BacklogPosition {
  private place: number | undefined;
  private lookBackAt = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** A rank, in milliseconds since the epoch. Undefined: at the beginning. */
  get from(): number | undefined {
    return this.now() < this.lookBackAt ? this.place : undefined;
  }

  /** True: it did not begin at the beginning, and there was not enough: more may be due before the place where it began. */
  claimed({ from, limit, taken, last }: PositionedClaim): boolean {
    const isFull = taken >= limit;
    if (from === undefined) this.lookBackAt = this.now() + LOOK_BACK;
    this.place = isFull && taken >= DEEP && last !== null ? last - ROUNDED : undefined;
    return from !== undefined && !isFull;
  }
}

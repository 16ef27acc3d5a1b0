/** A method of a saga that was called. */
export interface TestCall {
  /** The saga's name. */
  readonly saga: string;
  /** The saga's id. */
  readonly id: string;
  /** Whose method it is. */
  readonly step: string;
  /** The step's own method has its name; otherwise its compensation, or its probe. */
  readonly method: string;
  /** The index of the item of a fan-out. */
  readonly index?: number;
  /** 1, 2, … */
  readonly attempt: number;
  /** As the method was given it. */
  readonly idempotencyKey: string;
  /** `unknown`: it timed out, whatever it has done. Undefined: it has not come back. */
  outcome?: 'completed' | 'failed' | 'unknown';
  /** What it threw. */
  error?: unknown;
}

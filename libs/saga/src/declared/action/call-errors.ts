import { SagaError } from '../../errors.js';

/** A request or a command of a declared saga failed, without an effect that is known. The step is retried by its policy. */
export class StepCallError extends SagaError {
  readonly code = 'SAGA_STEP_CALL';

  constructor(
    message: string,
    /** The participant asked not to be called again before, in milliseconds from now. */
    readonly retryAfterMs?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The longest wait that a participant can ask for: one day. */
const LONGEST_WAIT = 86_400_000;

/** Milliseconds by a `Retry-After` header, which has seconds or a date. Undefined: there is none that can be read. */
export function retryAfterOf(header: string | string[] | undefined, now: number): number | undefined {
  const written = Array.isArray(header) ? header[0] : header;
  if (written === undefined) return undefined;
  const wait = /^\d+$/.test(written.trim()) ? Number(written) * 1_000 : Date.parse(written) - now;
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), LONGEST_WAIT) : undefined;
}

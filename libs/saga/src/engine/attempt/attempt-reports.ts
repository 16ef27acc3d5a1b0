import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ProgressReport } from '../../definition/types/contexts.js';
import { SagaValidationError, type StepAbortedError } from '../../errors.js';
import type { Clock } from '../../shared/clock.js';
import { textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';
import { readObject } from '../../shared/read-object.js';
import { shown } from '../../shared/shown-value.js';
import { decodePayload, encodePayload } from '../payload/payload.js';
import type { StepHeartbeat, StepProgress, StepReport } from '../ports/step-reports.js';
import { calledOutside } from './step-messages.js';

/** Bytes of the details of a heartbeat: each second they may be written again. */
export const MOST_DETAILS = 16 * 1_024;
/** Characters of a message of `progress`. */
export const LONGEST_MESSAGE = 500;
/** A loop that awaits heartbeats gives other work of the process its turn so often (ms). */
const TURN_INTERVAL = 10;

/** Keeps what attempts report. The run of the saga does. */
export interface ReportKeeper {
  /** @param isUrgent stored within a second; otherwise with the next renewal of the lease */
  keepReport(
    of: ReportPlace,
    report: Partial<Pick<StepReport, 'progress' | 'heartbeat'>>,
    isUrgent: boolean,
  ): void;
  reportOf(of: ReportPlace): StepReport | undefined;
}

/** Whose reports they are. */
export interface ReportPlace {
  /** See reportKey. */
  readonly key: string;
  readonly round: number;
}

let lastTurn = 0;

/** What one attempt reports of itself, as long as it is in progress. */
export class AttemptReports {
  /** Monotonic time of the last heartbeat. Undefined: there was none. */
  beatAt: number | undefined;

  constructor(
    private readonly place: ReportPlace,
    private readonly attempt: {
      readonly isInProgress: boolean;
      readonly abortedBy: StepAbortedError | undefined;
      readonly step: string;
      readonly isTransactional: boolean;
    },
    private readonly keeper: ReportKeeper,
    private readonly time: { readonly clock: Pick<Clock, 'monotonic'>; readonly now: () => number },
  ) {}

  /** @throws SagaValidationError */
  progress(given: ProgressReport): void {
    const report = readProgress(given);
    if (!this.isHeard('progress')) return;
    const progress: StepProgress = { ...report, at: this.time.now() };
    this.keeper.keepReport(this.place, { progress }, !this.attempt.isTransactional);
  }

  async heartbeat(given?: unknown): Promise<void> {
    this.requireWanted();
    const details = encodePayload(given, 'heartbeat', MOST_DETAILS);
    this.isHeard('heartbeat');
    this.beatAt = this.time.clock.monotonic();
    const heartbeat: StepHeartbeat = { at: this.time.now(), ...(details !== undefined && { details }) };
    this.keeper.keepReport(this.place, { heartbeat }, !this.attempt.isTransactional);
    const now = performance.now();
    if (now - lastTurn < TURN_INTERVAL) return;
    await nextTurn();
    lastTurn = performance.now();
    this.requireWanted();
  }

  /** @throws StepAbortedError */
  private requireWanted(): void {
    const { abortedBy } = this.attempt;
    if (abortedBy) throw abortedBy;
  }

  /** A copy for each call. */
  get last(): unknown {
    return decodePayload(this.keeper.reportOf(this.place)?.heartbeat?.details);
  }

  /** False: the run does not wait for the attempt any more. @throws SagaStateError if its method has returned */
  private isHeard(call: string): boolean {
    if (this.attempt.isInProgress) return true;
    if (this.attempt.abortedBy) return false;
    throw calledOutside(`Step '${this.attempt.step}': ${call}()`);
  }
}

function readProgress(given: ProgressReport): ProgressReport {
  const read = readObject<ProgressReport>(given, ['percent', 'message']);
  if (!read)
    throw new SagaValidationError(`progress(): it was given ${shown(given)}; give { percent, message }.`);
  if (read.flaws.length > 0)
    throw new SagaValidationError(`progress(): ${textOfProblems(read.flaws.map(textOfDiagnostic))}`);
  const { percent, message } = read.options;
  if (percent !== undefined && !(typeof percent === 'number' && percent >= 0 && percent <= 100))
    throw new SagaValidationError(`progress(): percent is ${shown(percent)}; give a number from 0 to 100.`);
  if (message !== undefined && !(typeof message === 'string' && message.length <= LONGEST_MESSAGE))
    throw new SagaValidationError(
      `progress(): message is ${shown(message)}; give a text of at most ${LONGEST_MESSAGE} characters.`,
    );
  if (message !== undefined) encodePayload(message, 'progress.message', LONGEST_MESSAGE * 6);
  return { ...(percent !== undefined && { percent }), ...(message !== undefined && { message }) };
}

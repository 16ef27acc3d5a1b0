import { stepOfKey } from '../../definition/graph/saga-graph.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import {
  decodeReports,
  encodeReports,
  partsOfReportKey,
  type StepHeartbeat,
  type StepProgress,
  StepReport,
} from '../ports/step-reports.js';

/** What an attempt reports: one of the two. */
export interface AttemptReport {
  readonly progress?: StepProgress;
  readonly heartbeat?: StepHeartbeat;
}

/**
 * What the steps of one run have reported, with what the runs before have left. It is stored with a renewal of the lease, the
 * latest report of each step only. One text at a time is on its way: an older one that arrived after a newer one would
 * overwrite it.
 */
export class RunReports {
  private readonly reports: Map<string, StepReport>;
  /** Something has been reported since the last `take`. */
  hasNews = false;
  /** Some of that is to be stored within a second. */
  isUrgent = false;
  /** Resolves when the text that is on its way is stored, or could not be. Undefined: none is on its way. */
  sent: Promise<void> | undefined;
  private endSending: () => void = () => undefined;

  constructor(stored: string | undefined) {
    this.reports = decodeReports(stored);
  }

  /** What the attempts of a step in this round have reported. */
  of(key: string, round: number): StepReport | undefined {
    const report = this.reports.get(key);
    return report?.round === round ? report : undefined;
  }

  /**
   * Keeps a report, until it is taken to be stored.
   * @param isUrgent stored within a second; otherwise with the next renewal of the lease
   */
  put(key: string, round: number, report: AttemptReport, isUrgent = true): void {
    const { progress, heartbeat } = { ...this.of(key, round), ...report };
    this.reports.set(key, new StepReport(round, progress, heartbeat));
    this.hasNews = true;
    this.isUrgent ||= isUrgent;
  }

  /**
   * This state is stored: what has ended by it reports nothing more in its round. That is not worth a write of its own.
   * Before, a lost worker would take its details with it, and the next attempt would begin without them.
   */
  forgetEnded(state: SagaState): void {
    for (const [key, { round }] of this.reports) {
      const { step, kind } = partsOfReportKey(key);
      const { status } = stepState(state, step);
      const isOver = status === 'compensated' || (kind === 'step' && status === 'completed');
      if (isOver || stepState(state, stepOfKey(step)).round !== round) this.reports.delete(key);
    }
  }

  get isStored(): boolean {
    return !this.hasNews && this.sent === undefined;
  }

  /** The text to store. Undefined: it is stored already, or has to wait for the one that is on its way. */
  take(): string | undefined {
    if (!this.hasNews || this.sent) return undefined;
    this.hasNews = this.isUrgent = false;
    this.sent = new Promise((resolve) => (this.endSending = resolve));
    return encodeReports(this.reports);
  }

  /** What was taken is stored. */
  stored(): void {
    this.endSending();
    this.sent = undefined;
  }

  /** What was taken could not be stored: the next renewal has it. */
  giveBack(): void {
    this.hasNews = true;
    this.stored();
  }
}

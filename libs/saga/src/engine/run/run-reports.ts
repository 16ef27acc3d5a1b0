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
  private isUnsaved = false;
  private isUrgentNews = false;
  private sending: Sending | undefined;

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
    this.isUnsaved = true;
    this.isUrgentNews ||= isUrgent;
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

  /** Has something been reported since the last `take`? */
  get hasNews(): boolean {
    return this.isUnsaved;
  }

  /** Is some of it to be stored within a second? */
  get isUrgent(): boolean {
    return this.isUrgentNews;
  }

  get isStored(): boolean {
    return !this.isUnsaved && this.sending === undefined;
  }

  /** Resolves when the text that is on its way is stored, or could not be. Undefined: none is on its way. */
  get sent(): Promise<void> | undefined {
    return this.sending?.ended;
  }

  /** The text to store. Undefined: it is stored already, or has to wait for the one that is on its way. */
  take(): string | undefined {
    if (!this.isUnsaved || this.sending) return undefined;
    this.isUnsaved = this.isUrgentNews = false;
    this.sending = new Sending();
    return encodeReports(this.reports);
  }

  /** What was taken is stored. */
  stored(): void {
    this.endSending();
  }

  /** What was taken could not be stored: the next renewal has it. */
  giveBack(): void {
    this.isUnsaved = true;
    this.endSending();
  }

  private endSending(): void {
    this.sending?.end();
    this.sending = undefined;
  }
}

/** A text that is on its way to the store. */
class Sending {
  end!: () => void;
  readonly ended = new Promise<void>((resolve) => (this.end = resolve));
}

import {
  decodeReports,
  encodeReports,
  type StepHeartbeat,
  type StepProgress,
  StepReport,
} from '../ports/step-reports.js';

/** What an attempt reports: one of the two. */
export interface Report {
  readonly progress?: StepProgress;
  readonly heartbeat?: StepHeartbeat;
}

/**
 * What the steps of one run have reported, with what the runs before have left. It is stored with the next renewal of the
 * lease, the latest report of each step only.
 */
export class RunReports {
  private readonly reports: Map<string, StepReport>;
  private isUnsaved = false;

  constructor(stored: string | undefined) {
    this.reports = decodeReports(stored);
  }

  /** What the attempts of a step in this round have reported. */
  of(key: string, round: number): StepReport | undefined {
    const report = this.reports.get(key);
    return report?.round === round ? report : undefined;
  }

  /** Keeps a report, until it is taken to be stored. */
  put(key: string, round: number, report: Report): void {
    const { progress, heartbeat } = { ...this.of(key, round), ...report };
    this.reports.set(key, new StepReport(round, progress, heartbeat));
    this.isUnsaved = true;
  }

  /** The step has ended: its next report, if there is one, is of another round. It is not worth a write of its own. */
  forget(key: string): void {
    this.reports.delete(key);
  }

  /** Has something been reported since the last `take`? */
  get hasNews(): boolean {
    return this.isUnsaved;
  }

  /** The text to store. Undefined: it is stored already. */
  take(): string | undefined {
    if (!this.isUnsaved) return undefined;
    this.isUnsaved = false;
    return encodeReports(this.reports);
  }

  /** What was taken could not be stored: the next renewal has it. */
  giveBack(): void {
    this.isUnsaved = true;
  }
}

import type { DecidedEntry } from './model-approvals.js';
import { type Book, type Relations, Rules } from './model-state.js';
import type { SentSignal } from './model-signals.js';

/** The oracle's own count of what operators said of steps with a quorum. */
export class ApprovalOracle {
  /** By step: who has approved since it was last decided on, oldest first. */
  private readonly approved = new Map<string, string[]>();
  /** Decisions that were sent. */
  private readonly sent: SentSignal[] = [];
  /** The approvals that the next one sent has to have. */
  private due: { readonly step: string; readonly by: readonly string[] } | undefined;

  constructor(private readonly relations: Relations) {}

  /** @param stored the saga as it is recorded, or as it may be @returns what is wrong */
  decided({ step, by, approved, outcome }: DecidedEntry, stored: readonly Book[]): string | undefined {
    const expected = new Set(stored.flatMap((book) => this.outcomes(book, step, by, approved)));
    const before = this.approved.get(step) ?? [];
    if (outcome === 'counted') this.approved.set(step, [...before, by]);
    if (outcome === 'sent') {
      this.due = { step, by: approved ? [...before, by] : [] };
      this.approved.set(step, []);
    }
    if (expected.has(outcome)) return undefined;
    const who = `${by} ${approved ? 'approves' : 'rejects'} ${step}, of whom ${before.join(', ') || 'none'} did`;
    return `${who}: ${outcome}, not ${[...expected].join(' or ')}`;
  }

  /** @returns what is wrong */
  signalled(signal: SentSignal): string | undefined {
    this.sent.push(signal);
    const { due } = this;
    if (due === undefined) return undefined;
    this.due = undefined;
    const { approvals = [] } = JSON.parse(signal.payload) as { approvals?: { by: string }[] };
    const [of, not] = [approvals.map(({ by }) => by).join(), due.by.join()];
    return of === not ? undefined : `${due.step} is approved by [${of}], and was by [${not}]`;
  }

  /** Q1: by so many different operators, or rejected by one; once, before it is taken, and while it may be. */
  private outcomes(book: Book, step: string, by: string, approves: boolean): DecidedEntry['outcome'][] {
    const rules = new Rules(this.relations, book);
    const { wait } = this.relations.node(step);
    const { phase, wait: own } = rules.life(step);
    const isDecided = this.sent.some(
      ({ name, number }) => name === wait!.signal && number > (book.lastTaken.get(name) ?? 0),
    );
    if (book.mode === 'over' || book.mode === 'compensating' || isDecided) return ['refused'];
    if (phase !== 'idle' || own?.number !== undefined) return ['refused'];
    if (!approves) return ['sent'];
    const before = this.approved.get(step) ?? [];
    if (before.includes(by)) return ['refused'];
    return [before.length + 1 < wait!.quorum! ? 'counted' : 'sent'];
  }
}

import { statementsOf } from '../../libs/saga/src/store/postgres/statements.js';
import type { Answer } from './answering-proxy.js';

/** The statements of the engine, by their texts. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(statementsOf('"saga"')).map(([name, text]) => [text.trim(), name]),
);

/** Statements that are put together when they are sent. */
const BY_WORDS: readonly (readonly [string, RegExp])[] = [
  ['begin', /^(?:START TRANSACTION|BEGIN)\b/],
  ['commit', /^COMMIT$/],
  ['checkpoint', /\bcheckpoint_\w*1\(/],
  ['start', /\bstart_\w*1\(/],
  ['take messages', /\boutbox_take_1\(/],
  ['settle messages', /\boutbox_settle_1\(/],
  ['cleanup', /\bcleanup_1\(/],
];

/** Returns the kind of a statement of the engine. Undefined: it is none of its usual ones. */
export function kindOf(text: string): string | undefined {
  return BY_WORDS.find(([, words]) => words.test(text.trim()))?.[0] ?? NAMES.get(text.trim());
}

/**
 * Gives each kind of statement each of its answers once: every second statement of a kind is answered with the next, and the
 * others are executed.
 */
export class EachOnce {
  /** How often a statement of each kind was answered. */
  readonly given = new Map<string, number>();
  private readonly left = new Map<string, Answer[]>();
  private readonly isNext = new Map<string, boolean>();

  constructor(private readonly answersOf: (kind: string) => readonly Answer[]) {}

  /** How many answers this kind has yet to get. */
  leftOf(kind: string): number {
    return this.answersLeft(kind).length;
  }

  readonly answerTo = (text: string): Answer | undefined => {
    const kind = kindOf(text);
    if (kind === undefined) return undefined;
    const isNext = this.isNext.get(kind) ?? true;
    this.isNext.set(kind, !isNext);
    const answer = isNext ? this.answersLeft(kind).shift() : undefined;
    if (answer) this.given.set(kind, (this.given.get(kind) ?? 0) + 1);
    return answer;
  };

  private answersLeft(kind: string): Answer[] {
    const left = this.left.get(kind) ?? [...this.answersOf(kind)];
    this.left.set(kind, left);
    return left;
  }
}

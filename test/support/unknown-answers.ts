import { statementTextsOf } from '../../libs/saga/src/store/postgres/statements.js';
import type { Answer } from './answering-proxy.js';

/** The names of the store's statements, by their texts. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(statementTextsOf('saga')).map(([name, text]) => [text.trim(), name]),
);

/** Statements of applications, and of their database layer about itself. */
const OF_APPLICATIONS = /\bbooking\b/;

/**
 * Returns the kind of a statement that the engine sends: its name in the store, the function of the schema that it calls, or
 * else its text. Undefined: the application sent it.
 */
export function kindOf(text: string): string | undefined {
  const sent = text.replace(/\/\*.*?\*\//g, '').trim();
  if (sent === '' || OF_APPLICATIONS.test(sent)) return undefined;
  if (/^(?:START TRANSACTION|BEGIN)\b/.test(sent)) return 'BEGIN';
  return NAMES.get(sent) ?? /"saga"\.(\w+)\(/.exec(sent)?.[1] ?? sent.replace(/\s+/g, ' ');
}

/**
 * Gives each kind of statement each of its answers once: every fourth statement of a kind is answered with the next, and the
 * others are executed. A call may send two of a kind, and has to succeed when it is repeated.
 */
export class EachOnce {
  /** How often a statement of each kind was answered. */
  readonly given = new Map<string, number>();
  private readonly sent = new Map<string, number>();
  private readonly left = new Map<string, Answer[]>();

  constructor(private readonly answersOf: (kind: string) => readonly Answer[]) {}

  /** The kinds that were sent so often, and have yet to get an answer. */
  unfinished(times: number): string[] {
    return [...this.sent].flatMap(([kind, sent]) =>
      sent >= times && this.answersLeft(kind).length > 0 ? [kind] : [],
    );
  }

  readonly answerTo = (text: string): Answer | undefined => {
    const kind = kindOf(text);
    if (kind === undefined) return undefined;
    const sent = this.sent.get(kind) ?? 0;
    this.sent.set(kind, sent + 1);
    const answer = sent % 4 === 0 ? this.answersLeft(kind).shift() : undefined;
    if (answer) this.given.set(kind, (this.given.get(kind) ?? 0) + 1);
    return answer;
  };

  private answersLeft(kind: string): Answer[] {
    const left = this.left.get(kind) ?? [...this.answersOf(kind)];
    this.left.set(kind, left);
    return left;
  }
}

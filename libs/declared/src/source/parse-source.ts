import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
} from 'yaml';
import type { Place } from '../declared-saga.error.js';
import type { Report } from 'nestjs-durable-saga/internal';
import type { Located, LocatedEntry } from './located.js';

/** Reports a problem at a position of one file. */
export type ReportAt = (at: Place, ...problem: Parameters<Report>) => void;

/** The longest file, in characters. */
export const LONGEST = 256 * 1024;
/** The number of lists and maps inside each other. JSONata and the JSON of results need far fewer. */
const DEEPEST = 64;
/** The number of values in a file, those that aliases repeat included. */
const MOST_VALUES = 20_000;

const START: Place = { line: 1, column: 1 };

/** Thrown inside this file only: the rest of the source is not read. */
class Unreadable extends Error {
  constructor(
    readonly at: Place,
    readonly problem: string,
    readonly fix: string,
  ) {
    super(problem);
  }
}

/** Reads YAML, or JSON, which is YAML. Undefined: it cannot be read, and the reasons were reported. */
export function parseSource(text: string, report: ReportAt): Located | undefined {
  if (text.length > LONGEST) {
    report(
      START,
      `the file has ${text.length} characters`,
      `the limit is ${LONGEST}; split it into sub-sagas`,
    );
    return undefined;
  }
  try {
    return parsed(text, report);
  } catch (error) {
    if (error instanceof Unreadable) report(error.at, error.problem, error.fix);
    else if (error instanceof RangeError)
      report(START, 'the file is nested too deeply', `the limit is ${DEEPEST} levels`);
    else report(START, `the file cannot be read: ${(error as Error).message}`, 'correct the YAML');
    return undefined;
  }
}

function parsed(text: string, report: ReportAt): Located | undefined {
  refuseDepth(text);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // It would not report a second document.
    logLevel: 'error',
  });
  const flaws = [...document.errors, ...document.warnings];
  for (const { message, pos } of flaws)
    report(placeIn(lines, pos[0]), firstLine(message), 'Correct the YAML');
  if (flaws.length > 0) return undefined;
  if (document.contents === null) {
    report(START, 'the file is empty', "begin with 'saga: <name>' and 'steps:'");
    return undefined;
  }
  return new Locator(document, lines).located(document.contents, 0);
}

/** The parser of YAML calls itself once for each opened bracket, so that a long row of them takes it minutes. */
function refuseDepth(text: string): void {
  const run = /[[{]\s*(?:[[{]\s*){100}/.exec(text) ?? /(?:^|\n)[ ]*(?:[-?] ){100}/.exec(text);
  if (run) throw new Unreadable(START, 'the file is nested too deeply', `the limit is ${DEEPEST} levels`);
}

class Locator {
  private values = 0;

  constructor(
    private readonly document: Document,
    private readonly lines: LineCounter,
  ) {}

  located(node: unknown, depth: number, at = this.placeOf(node)): Located {
    this.values += 1;
    if (this.values > MOST_VALUES)
      throw new Unreadable(at, `the file has more than ${MOST_VALUES} values`, 'split it into sub-sagas');
    if (depth > DEEPEST)
      throw new Unreadable(at, 'the file is nested too deeply', `the limit is ${DEEPEST} levels`);
    if (isAlias(node)) {
      const target = node.resolve(this.document);
      if (target) return this.located(target, depth + 1, at);
      throw new Unreadable(at, `the alias *${node.source} has no anchor`, `add &${node.source} before it`);
    }
    if (isMap(node)) return { kind: 'map', at, entries: node.items.map((pair) => this.entry(pair, depth)) };
    if (isSeq(node))
      return { kind: 'list', at, items: node.items.map((item) => this.located(item, depth + 1)) };
    return { kind: 'scalar', at, value: isScalar(node) ? this.scalar(node, at) : null };
  }

  private entry({ key, value }: Pair, depth: number): LocatedEntry {
    const at = this.placeOf(key);
    if (!isScalar(key))
      throw new Unreadable(at, 'a key is not text', `Quote values with expressions: "{{ … }}"`);
    const name = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
    return { key: name, at, value: this.located(value, depth + 1, value ? undefined : at) };
  }

  private scalar({ value, source }: Scalar, at: Place): string | number | boolean | null {
    if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw new Unreadable(
      at,
      `${source ?? 'the value'} is not a value of JSON`,
      'quote it, or give a finite number',
    );
  }

  private placeOf(node: unknown): Place {
    const range = isNode(node) ? node.range : undefined;
    return range ? placeIn(this.lines, range[0]) : START;
  }
}

function placeIn(lines: LineCounter, offset: number): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function firstLine(message: string): string {
  const [line = message] = message.split('\n', 1);
  return line.charAt(0).toLowerCase() + line.slice(1);
}

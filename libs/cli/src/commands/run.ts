import {
  type CommandAnswer,
  type Call,
  command,
  EXIT,
  JSON_OPTION,
  option,
  shows,
  UsageError,
} from '../command.js';
import type { GivenAnswers } from '../local/answers.js';
import { isDeclaredFile, problemLines, problemsOf, readDeclared } from '../local/declared-files.js';
import type { LocalEnd } from '../local/run-locally.js';
import type { Terminal } from '../terminal.js';
import { counted, failureText } from '../text/format.js';
import { paintOn } from '../text/style.js';
import { JSON_SOURCES, readJson, readPair, readTime } from '../values.js';

/** The exit code of a saga that was not compensated completely. */
const NEEDS_ATTENTION = 3;

const OPTIONS = {
  ...JSON_OPTION,
  input: option.text('<json>', `the input: ${JSON_SOURCES}`),
  set: option.several('<field>=<value>', 'set a field of the input: card.number=4242; JSON, or a text'),
  fail: option.several('<step>=<error>', 'make a step fail without running it; <step>.compensate=<error>'),
  approve: option.several('<step>', 'approve this step'),
  reject: option.several('<step>', 'reject this step'),
  signal: option.several('<name>=<json>', 'send this signal once the saga waits for it'),
  timeout: option.text('<duration>', 'cancel the saga after this time: 30s, 10m; default: no limit'),
};

export const run = command({
  words: 'run',
  operands: ['<file…>'],
  summary: 'Runs a declared saga in memory, without a database',
  details:
    'Runs the saga of the first YAML or JSON file. The other files are of its sub-sagas. Nothing is stored: if the ' +
    'process is killed, nothing is compensated. Ctrl-C cancels the saga, which compensates. In a terminal the command ' +
    'asks for approvals and signals; elsewhere a saga that waits for something that is not given is cancelled. Exit ' +
    'code: 0 if the saga completed; 1 if it was compensated; 3 if it was not compensated completely, or needs ' +
    'attention; 2 if the command or a file is invalid.',
  examples: [
    `saga run place-order.yaml --input '{"sku":"cup"}'`,
    'saga run place-order.yaml --input @order.json --set amount=1200 --approve approve',
    `saga run place-order.yaml --input @order.json --fail charge='card declined' --json`,
  ],
  options: OPTIONS,
  run: async ({ operands: files, values, terminal }) => {
    for (const file of files) checkFile(file);
    const input = withFields(await readJson(values.input, '--input', terminal), values.set ?? []);
    const answers = answersOf(values);
    const timeout = readTime(values.timeout, 'timeout') ?? Infinity;
    try {
      const types = await readDeclared(files, true);
      const { runLocally } = await import('../local/run-locally.js');
      const isQuiet = values.json ?? false;
      const run = { types, input, answers, timeout, failures: values.fail ?? [], isQuiet };
      const end = await runLocally(run, terminal);
      return answerOf(end, terminal);
    } catch (error) {
      const problems = await problemsOf(error);
      if (!problems) throw error;
      for (const line of await problemLines(problems)) terminal.error(line);
      return EXIT.failed;
    }
  },
});

function checkFile(file: string): void {
  if (isDeclaredFile(file)) return;
  throw new UsageError(
    `'${file}' is not a YAML or JSON file. To run a saga of an application, use saga start`,
  );
}

function answersOf({ approve = [], reject = [], signal = [] }: Call<typeof OPTIONS>['values']): GivenAnswers {
  const both = approve.find((step) => reject.includes(step));
  if (both !== undefined) throw new UsageError(`'${both}' is in --approve and in --reject`);
  return { approve, reject, signals: new Map(signal.map(readSignal)) };
}

function readSignal(written: string): [string, unknown] {
  if (!written.includes('=')) return [written, undefined];
  const [name, text] = readPair(written, 'signal');
  try {
    return [name, JSON.parse(text) as unknown];
  } catch (error) {
    throw new UsageError(`--signal ${name} is not JSON: ${(error as Error).message}; a text is '"${text}"'`);
  }
}

function answerOf(
  { saga: { saga, version, steps }, outcome, published }: LocalEnd,
  terminal: Terminal,
): CommandAnswer {
  const { id, status, results, failure } = outcome;
  const text = [
    ...(failure ? [`\n${paintOn(terminal)('red', failureText(failure))}`] : []),
    ...(Object.keys(results).length > 0 ? [`\n${JSON.stringify(results, undefined, 2)}`] : []),
  ];
  const json = { id, saga, version, status, results, ...(failure && { failure }), steps, published };
  return { ...shows(json, text), exit: exitOf(status) };
}

function exitOf(status: string): number {
  if (status === 'completed') return EXIT.done;
  return status === 'compensated' || status === 'aborted' ? EXIT.refused : NEEDS_ATTENTION;
}

export const lint = command({
  words: 'lint',
  operands: ['<path…>'],
  summary: 'Checks declared sagas, and prints each problem with its line',
  details:
    'A path is a folder with YAML files, a YAML or JSON file, or a pattern such as "sagas/**/*.json". Sub-sagas must be among the files. Runs nothing. Exit code: 0 if the files ' +
    'are valid, 1 if one is not, 2 if the command failed.',
  examples: ['saga lint place-order.yaml', 'saga lint sagas/', 'saga lint "sagas/*.yaml" --environment'],
  options: {
    ...JSON_OPTION,
    environment: option.flag('check that the variables and secrets of the files are set here'),
  },
  run: async ({ operands: files, values }) => {
    try {
      const types = await readDeclared(files, values.environment ?? false);
      return shows([], [`${counted(types.length, 'saga')}, no problems`]);
    } catch (error) {
      const problems = await problemsOf(error);
      if (!problems) throw error;
      return { ...shows(problems, await problemLines(problems)), exit: EXIT.refused };
    }
  },
});

/** Names that lead out of the object. */
const UNSAFE = ['__proto__', 'constructor', 'prototype'];

/**
 * Sets fields of an input: `card.number=4242`. A value is JSON, or otherwise a text.
 * @throws UsageError if a field is inside something that is not an object
 */
export function withFields(input: unknown, written: readonly string[]): unknown {
  if (written.length === 0) return input;
  const whole = { input };
  for (const one of written) {
    const [path, value] = readPair(one, 'set');
    setField(whole, ['input', ...path.split('.')], valueOf(value), path);
  }
  return whole.input;
}

function setField(whole: object, names: readonly string[], value: unknown, path: string): void {
  let inside = whole as Record<string, unknown>;
  names.forEach((name, n) => {
    if (name === '' || UNSAFE.includes(name)) throw new UsageError(`--set '${path}' is not a path of names`);
    if (n === names.length - 1) return void (inside[name] = value);
    const next = (inside[name] ??= {});
    if (typeof next !== 'object' || Array.isArray(next))
      throw new UsageError(
        `--set '${path}': ${names.slice(1, n + 1).join('.') || 'the input'} is not an object`,
      );
    inside = next as Record<string, unknown>;
  });
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

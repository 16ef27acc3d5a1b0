import type { SagaTarget } from 'nestjs-durable-saga';
import type { BulkAction, OperatorOptions } from 'nestjs-durable-saga/operators';
import {
  CALL_NAMES,
  type CallName,
  type CallOption,
  argumentsOf,
  factsOf,
  isBulk,
  makeCall,
  withoutUndefined,
} from 'nestjs-durable-saga/internal';
import {
  type CommandAnswer,
  type Command,
  command,
  did,
  EXIT,
  JSON_OPTION,
  option,
  type OptionSpecs,
  shows,
  UsageError,
  type ValuesOf,
} from '../command.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { checkEncoded, type OperatorSession, readTarget, SAGA_OPTIONS, TARGET } from '../operator-session.js';
import { BY_OPTION, OPERATOR_OPTIONS, operatorOptionsOf, userOf } from '../operator.js';
import { operating } from '../session.js';
import type { Terminal } from '../terminal.js';
import { columns } from '../text/columns.js';
import { counted as countOf } from '../text/format.js';
import { rollbackLines, withoutResults } from '../text/rollback-text.js';
import { headLines } from '../text/saga-page.js';
import { paintOn } from '../text/style.js';
import { JSON_SOURCES, readJson, readWhere, readWhole, WHERE } from '../values.js';
import { CALL_COMMANDS } from './call-commands.js';

const BULK_OPTIONS = {
  where: option.several('<name>=<value>', `instead of a target, ${WHERE}`),
  'dry-run': option.flag('only show the sagas that match'),
  limit: option.text('<number>', 'with --where: the maximum number of sagas; default: 1000'),
} as const;

/** The number of sagas that are listed by name. */
const SHOWN = 10;

/** What may be given to a call: those of its own are texts and flags by name. */
type Values = ValuesOf<
  typeof SAGA_OPTIONS & typeof JSON_OPTION & typeof OPERATOR_OPTIONS & typeof YES_OPTION & typeof BULK_OPTIONS
> &
  Readonly<Record<string, unknown>>;

/** A command for each call on one saga. Some act on all sagas that a filter finds as well. */
export const operations: readonly Command[] = CALL_NAMES.map((name) => {
  const { summary } = factsOf(name);
  const words = CALL_COMMANDS[name];
  const details = [words.details, ...detailsOf(name)].filter((one) => one !== undefined).join(' ');
  return command({
    words: kebab(name),
    operands: isBulk(name) ? [`[${TARGET}]`] : [TARGET, ...operandsOf(name)],
    summary,
    ...(details && { details }),
    examples: words.examples,
    options: optionsOf(name),
    run: ({ operands, values, terminal }) => run(name, operands, values, terminal),
  });
});

function operandsOf(name: CallName): string[] {
  const { options } = factsOf(name);
  return argumentsOf(name).operands.map((operand) => {
    const value = placeholder(operand, options[operand]!);
    return options[operand]!.required ? value : `[${value}]`;
  });
}

/** What stands for a value in help: `<json>`. */
function placeholder(name: string, { type, operand }: CallOption): string {
  return type === 'time' ? '<time>' : `<${operand ? name : type}>`;
}

function detailsOf(name: CallName): string[] {
  const { options, compensates } = factsOf(name);
  const json = Object.entries(options).filter(([, { type }]) => type === 'json');
  return [
    ...(compensates
      ? ['Shows the compensations that would run and asks for confirmation. --dry-run only shows them.']
      : []),
    ...json.map(([key, { operand }]) => `${operand ? `The ${key}` : `--${kebab(key)}`} is ${JSON_SOURCES}.`),
  ];
}

function optionsOf(name: CallName): OptionSpecs {
  const { decides, sends, options } = factsOf(name);
  const own = Object.entries(options).flatMap(([key, one]) => {
    if (one.operand) return [];
    // A fragment of a sentence, as the help of the other options is.
    const about = `${one.about![0]!.toLowerCase()}${one.about!.slice(1, -1)}`;
    return [
      [
        kebab(key),
        one.type === 'flag' ? option.flag(about) : option.text(placeholder(key, one), about),
      ] as const,
    ];
  });
  return {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    ...(decides ? BY_OPTION : sends ? {} : OPERATOR_OPTIONS),
    ...((CALL_COMMANDS[name].asks !== undefined || isBulk(name)) && YES_OPTION),
    ...(isBulk(name) && BULK_OPTIONS),
    ...Object.fromEntries(own),
  };
}

/** A command as it was called, for one saga or, with `where`, for several. */
interface Made {
  readonly name: CallName;
  readonly written: string | undefined;
  /** The step, or the signal. */
  readonly about: string | undefined;
  readonly values: Values;
  readonly caller: OperatorOptions;
  /** The operands and the options of the call, by name. */
  readonly own: Readonly<Record<string, unknown>>;
}

async function run(
  name: CallName,
  [written, ...operands]: readonly (string | undefined)[],
  values: Values,
  terminal: Terminal,
): Promise<number | CommandAnswer> {
  const { where, 'dry-run': dryRun } = values;
  if (isBulk(name)) checkWhich(name, written, values);
  if (!dryRun && (CALL_COMMANDS[name].asks !== undefined || where))
    checkAskable(values.yes, kebab(name), terminal);
  const { own, encoded } = await readOwn(name, operands, values, terminal);
  const caller = callerOf(name, values, terminal);
  // Invalid arguments are reported before the database is connected.
  if (where) readWhere(where);
  return operating(values, terminal, async (operated) => {
    checkEncoded(operated, encoded);
    if (where && isBulk(name)) return operateOnMany(name, where, values, caller, operated, terminal);
    return operateOnOne(
      { name, written, about: operands[0], values, caller, own },
      readTarget(written!, operated),
      operated,
      terminal,
    );
  });
}

/** One saga or a filter, and no option that applies to one saga with a filter. */
function checkWhich(name: CallName, written: string | undefined, values: Values): void {
  const own = argumentsOf(name).options.map(kebab);
  if (written === undefined && own.some((key) => values[key] !== undefined)) {
    const [last, ...others] = own.map((key) => `--${key}`).reverse();
    const flags = others.length > 0 ? `${others.reverse().join(', ')} and ${last} apply` : `${last} applies`;
    throw new UsageError(`${flags} to one saga; give a <target>`);
  }
  if ((written === undefined) === (values.where === undefined))
    throw new UsageError('Give a <target>, or select several sagas with --where');
}

/** The operands and options of the call. `encoded`: one that the applications encode before it is stored. */
async function readOwn(
  name: CallName,
  operands: readonly (string | undefined)[],
  values: Values,
  terminal: Terminal,
) {
  const own: Record<string, unknown> = {};
  let encoded = values.reason && '--reason';
  for (const [key, one] of Object.entries(factsOf(name).options)) {
    const { type, operand } = one;
    const place = argumentsOf(name).operands.indexOf(key);
    const what = operand ? placeholder(key, one) : `--${kebab(key)}`;
    const written = operand ? operands[place] : values[kebab(key)];
    if (written === undefined) continue;
    own[key] = type === 'json' ? await readJson(written as string, what, terminal) : written;
    if (type === 'json' || key === 'comment') encoded = what;
  }
  return { own, encoded };
}

function callerOf(name: CallName, values: Values, terminal: Terminal): OperatorOptions {
  const { decides, sends } = factsOf(name);
  if (sends) return {};
  if (!decides) return operatorOptionsOf(values, terminal);
  const { by = userOf(terminal) } = values;
  if (by === undefined) throw new UsageError('Give the operator who decides: --by <name>');
  return { by };
}

async function operateOnOne(
  { name, written, about = '', values, caller: given, own }: Made,
  target: SagaTarget,
  operated: OperatorSession,
  terminal: Terminal,
): Promise<number | CommandAnswer> {
  if (values['dry-run']) return aboutOne(name, target, operated, terminal);
  const done = capital(factsOf(name).done);
  const { asks, prints = about === '' ? `${done} {target}` : `${done} '{}' of {target}` } =
    CALL_COMMANDS[name];
  let caller = given;
  const show = async () => {
    // What is agreed to is what was shown.
    const { status } = await operated.sagas.get(target);
    caller = { ...given, expects: given.expects ?? status };
    return [...(await aboutOne(name, target, operated, terminal)).text, ''];
  };
  const agreed =
    asks === undefined || (await confirmed(values.yes, asks.replace('{}', about), show, terminal));
  if (!agreed) return EXIT.refused;
  await makeCall(operated, name, target, { ...caller, ...own });
  return did(prints.replace('{}', about).replace('{target}', written!));
}

/** The saga, and the compensations that the call would run. */
async function aboutOne(
  name: CallName,
  target: SagaTarget,
  { sagas, operations, running }: OperatorSession,
  terminal: Terminal,
): Promise<CommandAnswer> {
  const found = await sagas.get(target);
  const { id, saga, status } = found;
  const head = headLines(found, { paint: paintOn(terminal), now: running.engine.now() });
  if (!factsOf(name).compensates) return shows({ id, saga, status }, head);
  const plan = await operations.previewRollback(target);
  return shows({ id, saga, status, rollback: withoutResults(plan) }, [...head, '', ...rollbackLines(plan)]);
}

/** `retryNow` as the command line writes it: `retry-now`. */
function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function capital(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}

/** Makes one call to every saga that a filter finds; counts them first, and asks. */
async function operateOnMany(
  action: BulkAction,
  where: readonly string[],
  { limit: most, yes, 'dry-run': dryRun }: Values,
  given: OperatorOptions,
  { sagas, operations }: OperatorSession,
  terminal: Terminal,
): Promise<number | CommandAnswer> {
  const filter = readWhere(where);
  const { by, reason, expects } = given;
  if (expects)
    throw new UsageError(
      '--expects applies to one saga. With --where, each saga must be unchanged since it was counted',
    );
  const options = withoutUndefined({ by, reason, limit: readWhole(most, 'limit') });
  const counted = async (): Promise<CommandAnswer> => {
    const result = await operations.bulk(action, filter, { ...options, dryRun: true });
    const { matched, more } = result;
    const { items } = await sagas.find({ ...filter, limit: SHOWN });
    const rows = items.map((item) => [`  ${item.id}`, `${item.saga}/${item.correlationId}`, item.status]);
    const head = `${countOf(matched, 'saga')}${more ? ', and more' : ''}${matched > SHOWN ? '; the newest:' : ''}`;
    return { json: JSON.stringify(result), text: [head, ...columns(rows)] };
  };
  if (dryRun) return counted();
  const question = `${action[0]!.toUpperCase()}${action.slice(1)} all of them?`;
  if (!(await confirmed(yes, question, async () => (await counted()).text, terminal))) return EXIT.refused;
  const result = await operations.bulk(action, filter, options);
  const { done, matched, proposed, failed, more } = result;
  const text = [`${action}: ${done} of ${countOf(matched, 'saga')}${more ? '; there are more' : ''}`];
  if (proposed > 0) text.push(`${proposed} wait for another operator to make the same call`);
  return {
    ...{ json: JSON.stringify(result), text, notes: failed.map(({ id, error }) => `${id}: ${error}`) },
    exit: done === matched ? EXIT.done : EXIT.refused,
  };
}

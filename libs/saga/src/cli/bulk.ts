import type { BulkAction } from '../engine/ports/call-table.js';
import type { OperatorOptions } from '../nest/calls/operator-options.js';
import { columns } from './text/columns.js';
import { type Answer, EXIT, type JSON_OPTION, option, type ValuesOf, UsageError } from './command.js';
import { confirmed, type YES_OPTION } from './confirm.js';
import type { OperatorSession } from './operator-session.js';
import type { Terminal } from './terminal.js';
import { readWhere, readWhole, WHERE } from './values.js';
import { counted as countOf } from './text/format.js';
import { withoutUndefined } from '../shared/without-undefined.js';

export const BULK_OPTIONS = {
  where: option.several('<name>=<value>', `instead of a target, ${WHERE}`),
  'dry-run': option.flag('only show the sagas that match'),
  limit: option.text('<number>', 'with --where: the maximum number of sagas; default: 1000'),
} as const;

/** The number of sagas that are listed by name. */
const SHOWN = 10;

type Values = ValuesOf<typeof BULK_OPTIONS & typeof JSON_OPTION & typeof YES_OPTION> & {
  readonly where: readonly string[];
};

/** Makes one call to every saga that a filter finds; counts them first, and asks. */
export async function operateOnMany(
  action: BulkAction,
  { where, limit: most, yes, 'dry-run': dryRun }: Values,
  given: OperatorOptions,
  { sagas }: OperatorSession,
  terminal: Terminal,
): Promise<number | Answer> {
  const filter = readWhere(where);
  const { by, reason, expects } = given;
  if (expects)
    throw new UsageError(
      '--expects applies to one saga. With --where, each saga must be unchanged since it was counted',
    );
  const options = withoutUndefined({ by, reason, limit: readWhole(most, 'limit') });
  const counted = async (): Promise<Answer> => {
    const result = await sagas.bulk(action, filter, { ...options, dryRun: true });
    const { matched, more } = result;
    const { items } = await sagas.find({ ...filter, limit: SHOWN });
    const rows = items.map((item) => [`  ${item.id}`, `${item.saga}/${item.correlationId}`, item.status]);
    const head = `${countOf(matched, 'saga')}${more ? ', and more' : ''}${matched > SHOWN ? '; the newest:' : ''}`;
    return { json: JSON.stringify(result), text: [head, ...columns(rows)] };
  };
  if (dryRun) return counted();
  const question = `${action[0]!.toUpperCase()}${action.slice(1)} all of them?`;
  if (!(await confirmed(yes, question, async () => (await counted()).text, terminal))) return EXIT.refused;
  const result = await sagas.bulk(action, filter, options);
  const { done, matched, proposed, failed, more } = result;
  const text = [`${action}: ${done} of ${countOf(matched, 'saga')}${more ? '; there are more' : ''}`];
  if (proposed > 0) text.push(`${proposed} wait for another operator to make the same call`);
  return {
    ...{ json: JSON.stringify(result), text, notes: failed.map(({ id, error }) => `${id}: ${error}`) },
    exit: done === matched ? EXIT.done : EXIT.refused,
  };
}

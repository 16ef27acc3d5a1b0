import type { BulkAction } from '../engine/ports/call-table.js';
import type { OperatorOptions } from '../nest/calls/operator-options.js';
import { columns } from './text/columns.js';
import { EXIT, type JSON_OPTION, option, type ValuesOf } from './command.js';
import { confirmed, type YES_OPTION } from './confirm.js';
import type { OperatorSession } from './operator-session.js';
import type { Terminal } from './terminal.js';
import { UsageError } from './usage-error.js';
import { readWhere, readWhole, WHERE } from './values.js';
import { counted } from './text/format.js';

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
  values: Values,
  given: OperatorOptions,
  { sagas }: OperatorSession,
  terminal: Terminal,
): Promise<number> {
  const filter = readWhere(values.where);
  const limit = readWhole(values.limit, 'limit');
  const { by, reason, expects } = given;
  if (expects)
    throw new UsageError(
      '--expects applies to one saga. With --where, each saga must be unchanged since it was counted',
    );
  const options = { by, reason, ...(limit !== undefined && { limit }) };
  const { 'dry-run': dryRun, json } = values;
  const about = async (): Promise<string[]> => {
    const { matched, more } = await sagas.bulk(action, filter, { ...options, dryRun: true });
    const { items } = await sagas.find({ ...filter, limit: SHOWN });
    const rows = items.map((item) => [`  ${item.id}`, `${item.saga}/${item.correlationId}`, item.status]);
    return [
      `${counted(matched, 'saga')}${more ? ', and more' : ''}${matched > SHOWN ? '; the newest:' : ''}`,
      ...columns(rows),
    ];
  };
  if (dryRun) {
    if (json) terminal.out(JSON.stringify(await sagas.bulk(action, filter, { ...options, dryRun })));
    else for (const line of await about()) terminal.out(line);
    return EXIT.done;
  }
  if (
    !(await confirmed(
      values.yes,
      `${action[0]!.toUpperCase()}${action.slice(1)} all of them?`,
      about,
      terminal,
    ))
  )
    return EXIT.refused;
  const result = await sagas.bulk(action, filter, options);
  const { done, matched, proposed, failed, more } = result;
  if (json) terminal.out(JSON.stringify(result));
  else {
    terminal.out(`${action}: ${done} of ${counted(matched, 'saga')}${more ? '; there are more' : ''}`);
    if (proposed > 0) terminal.out(`${proposed} wait for another operator to make the same call`);
    for (const { id, error } of failed) terminal.error(`${id}: ${error}`);
  }
  return done === matched ? EXIT.done : EXIT.refused;
}

import { type Call, type Command, command, EXIT, JSON_OPTION, option } from '../command.js';
import { CODEC_OPTION } from '../codec-option.js';
import { BY_OPTION, userOf } from '../operator.js';
import type { ShardCall } from '../../store/postgres/shards/postgres-shard-row.js';
import type { ShardAt } from '../shard-databases.js';
import { columns } from '../text/columns.js';
import { type Paint, paintOn } from '../text/style.js';

const SHARD_OPTIONS = {
  url: option.several(
    '<postgres://…>',
    'the URL of a shard, once for each, or once for all; default: the variable DATABASE_URL',
  ),
  schema: option.several('<name>', 'the schema of a shard, once for each, or once for all; default: saga'),
  ...JSON_OPTION,
} as const;

const CHANGE_OPTIONS = {
  ...SHARD_OPTIONS,
  ...BY_OPTION,
  ...CODEC_OPTION,
  reason: option.text('<text>', 'the reason; stored with the shard'),
} as const;

const shards = command({
  words: 'shards',
  operands: [],
  summary: 'Lists the shards of an application, with their sagas',
  details: 'It exits with 2 if a shard cannot be reached.',
  examples: [
    'saga shards --url "$EU_DATABASE_URL" --url "$US_DATABASE_URL"',
    'saga shards --url "$DATABASE_URL" --schema saga_eu --schema saga_us',
  ],
  options: SHARD_OPTIONS,
  run: async ({ values, terminal }) => {
    const { readShards } = await import('../shard-databases.js');
    const found = await readShards(values, terminal);
    const lines = () => columns(found.map((shard) => rowOf(shard, paintOn(terminal)))).join('\n');
    terminal.out(values.json ? JSON.stringify(found, undefined, 2) : lines());
    return found.every(({ reachable }) => reachable) ? EXIT.done : EXIT.failed;
  },
});

const drain = command({
  words: 'shards drain',
  operands: ['<shard>'],
  summary: 'Lets no new sagas start on a shard',
  details: 'Each process learns of it at its next poll. The sagas of the shard continue.',
  examples: ['saga shards drain eu --url "$EU_DATABASE_URL" --reason "a new server"'],
  options: CHANGE_OPTIONS,
  run: (call) => change(call, 'drain'),
});

const admit = command({
  words: 'shards admit',
  operands: ['<shard>'],
  summary: 'Lets new sagas start on a shard that was added or drained',
  details:
    'Admit a shard that was added only when all processes have it: those without it would not find its sagas.',
  examples: ['saga shards admit asia --url "$ASIA_DATABASE_URL"'],
  options: CHANGE_OPTIONS,
  run: (call) => change(call, 'admit'),
});

const close = command({
  words: 'shards close',
  operands: ['<shard>'],
  summary: 'Closes a shard, so that its tables can be copied to another server',
  details:
    'Each process stops the sagas and the relay of the shard at its next poll. The command ends when nothing runs there any more, ' +
    'and nothing can change the tables.',
  examples: ['saga shards close eu --url "$EU_DATABASE_URL" --reason "a server of its own"'],
  options: CHANGE_OPTIONS,
  run: (call) => change(call, 'close'),
});

const open = command({
  words: 'shards open',
  operands: ['<shard>'],
  summary: 'Opens a closed shard again',
  details:
    'Each process runs its sagas from its next poll on. Open it at one address only: at its new one, if it was copied.',
  examples: ['saga shards open eu --url "$NEW_EU_DATABASE_URL"'],
  options: CHANGE_OPTIONS,
  run: (call) => change(call, 'open'),
});

const STATES: Record<ShardCall, string> = {
  drain: 'accepts no new sagas',
  admit: 'accepts new sagas',
  close: 'is closed',
  open: 'is open',
};

// Those of two words first: 'shards' is the beginning of all.
export const shardCommands: readonly Command[] = [drain, admit, close, open, shards];

async function change(
  { operands: [name], values, terminal }: Call<typeof CHANGE_OPTIONS>,
  what: ShardCall,
): Promise<number> {
  const { changeShardAt } = await import('../shard-databases.js');
  const { by = userOf(terminal), reason } = values;
  const who = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const changed = await changeShardAt(name!, what, who, values, terminal);
  const state = STATES[what];
  const text = changed ? `Shard '${name}' ${state}` : `Shard '${name}' ${state}, as before`;
  terminal.out(values.json ? JSON.stringify({ changed }) : text);
  return EXIT.done;
}

function rowOf({ name, database, accepting, closed, counts, cause }: ShardAt, paint: Paint): string[] {
  if (!counts) return [name ?? '?', paint('red', 'unreachable'), database, cause ?? ''];
  const { unfinished, needAttention, due, overdue } = counts;
  return [
    name ?? '?',
    closed
      ? paint('red', 'closed')
      : accepting
        ? paint('green', 'accepting')
        : paint('yellow', 'not accepting'),
    database,
    `${unfinished} unfinished, ${needAttention} need attention, ${due} due, ${overdue} overdue`,
  ];
}

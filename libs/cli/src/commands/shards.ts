import { type Command, command, did, EXIT, JSON_OPTION, option, shows } from '../command.js';
import { WHO_OPTIONS, whoOf } from '../operator.js';
import { CODEC_OPTION } from '../operator-session.js';
import type { ShardCall } from 'nestjs-durable-saga/internal/runtime';
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
    const exit = found.every(({ reachable }) => reachable) ? EXIT.done : EXIT.failed;
    return { ...shows(found, columns(found.map((shard) => rowOf(shard, paintOn(terminal))))), exit };
  },
});

/** The calls on a shard, with the words of their commands. */
const CALLS: Record<ShardCall, { summary: string; details: string; example: string; state: string }> = {
  drain: {
    summary: 'Lets no new sagas start on a shard',
    details: 'Each process learns of it at its next poll. The sagas of the shard continue.',
    example: 'saga shards drain eu --url "$EU_DATABASE_URL" --reason "a new server"',
    state: 'accepts no new sagas',
  },
  close: {
    summary: 'Closes a shard, so that its tables can be copied to another server',
    details:
      'Each process stops the sagas and the relay of the shard at its next poll. The command ends when nothing runs there any more, ' +
      'and nothing can change the tables.',
    example: 'saga shards close eu --url "$EU_DATABASE_URL" --reason "a server of its own"',
    state: 'is closed',
  },
  open: {
    summary: 'Opens a closed shard again, or one that was added or drained for new sagas',
    details:
      'Each process runs the sagas of a shard that was closed from its next poll on. Open it at one address only: at its new one, if it was copied. ' +
      'Open a shard that was added only when all processes have it: those without it would not find its sagas.',
    example: 'saga shards open eu --url "$NEW_EU_DATABASE_URL"',
    state: 'is open',
  },
};

const calls = (Object.keys(CALLS) as ShardCall[]).map((name) => {
  const { example, state, ...texts } = CALLS[name];
  return command({
    ...{ words: `shards ${name}`, operands: ['<shard>'], examples: [example], ...texts },
    options: { ...SHARD_OPTIONS, ...CODEC_OPTION, ...WHO_OPTIONS },
    run: async ({ operands: [shard], values, terminal }) => {
      const { changeShardAt } = await import('../shard-databases.js');
      const changed = await changeShardAt(shard!, name, whoOf(values, terminal), values, terminal);
      return did(`Shard '${shard}' ${state}${changed ? '' : ', as before'}`, { changed });
    },
  });
});

// Those of two words first: 'shards' is the beginning of all.
export const shardCommands: readonly Command[] = [...calls, shards];

function rowOf({ name, database, accepting, closed, counts, cause }: ShardAt, paint: Paint): string[] {
  if (!counts) return [name ?? '?', paint('red', 'unreachable'), database, cause ?? ''];
  const { unfinished, needAttention, due, overdue } = counts;
  const open = accepting ? paint('green', 'accepting') : paint('yellow', 'not accepting');
  return [
    name ?? '?',
    closed ? paint('red', 'closed') : open,
    database,
    `${unfinished} unfinished, ${needAttention} need attention, ${due} due, ${overdue} overdue`,
  ];
}

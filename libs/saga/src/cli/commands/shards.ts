import { type Call, type Command, command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { BY_OPTION, userOf } from '../operator.js';
import type { ShardAt } from '../shard-databases.js';
import { columns } from '../text/columns.js';
import type { StayReason } from '../../engine/ports/shard-moves.js';
import type { MoveResult } from '../../shards/move-sagas.js';
import { UsageError } from '../usage-error.js';
import { readWhole } from '../values.js';
import { type Paint, paintOn } from '../text/style.js';

/** Sagas that one command moves. */
const MOVE_LIMIT = 10_000;

const SHARD_OPTIONS = {
  ...DATABASE_OPTIONS,
  url: option.several(
    '<postgres://…>',
    'the URL of a shard, once for each; default: the variable DATABASE_URL',
  ),
  ...JSON_OPTION,
} as const;

const CHANGE_OPTIONS = {
  ...SHARD_OPTIONS,
  ...BY_OPTION,
  reason: option.text('<text>', 'the reason; stored with the shard'),
} as const;

const shards = command({
  words: 'shards',
  operands: [],
  summary: 'Lists the shards of an application, with their sagas',
  details: 'It exits with 2 if a shard cannot be reached.',
  examples: ['saga shards --url "$EU_DATABASE_URL" --url "$US_DATABASE_URL"'],
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
  run: (call) => change(call, false),
});

const admit = command({
  words: 'shards admit',
  operands: ['<shard>'],
  summary: 'Lets new sagas start on a shard that was added or drained',
  details:
    'Admit a shard that was added only when all processes have it: those without it would not find its sagas.',
  examples: ['saga shards admit asia --url "$ASIA_DATABASE_URL"'],
  options: CHANGE_OPTIONS,
  run: (call) => change(call, true),
});

const move = command({
  words: 'shards move',
  operands: ['<shard>'],
  summary: 'Moves sagas off a drained shard to the others',
  details:
    'Give the URLs of all shards. Sagas that cannot move stay, and are counted with the reason. A command that was interrupted ' +
    'is continued by the next one.',
  examples: [
    'saga shards move eu --url "$EU_DATABASE_URL" --url "$US_DATABASE_URL"',
    'saga shards move eu --to asia --limit 1000 --url "$EU_DATABASE_URL" --url "$ASIA_DATABASE_URL"',
  ],
  options: {
    ...SHARD_OPTIONS,
    to: option.text('<shard>', 'move all sagas to this shard; default: each to the home of its keys'),
    limit: option.text('<n>', `the maximum number of sagas to move; default: ${MOVE_LIMIT}`),
  },
  run: async ({ operands: [from], values, terminal }) => {
    const limit = readWhole(values.limit, 'limit') ?? MOVE_LIMIT;
    if (limit === 0) throw new UsageError('--limit is 0; give a number from 1');
    const { moveShard } = await import('../move-shard.js');
    const result = await moveShard({ from: from!, to: values.to, limit }, values, terminal);
    terminal.out(values.json ? JSON.stringify(result, undefined, 2) : textOfMove(from!, result));
    return EXIT.done;
  },
});

// Those of two words first: 'shards' is the beginning of all.
export const shardCommands: readonly Command[] = [drain, admit, move, shards];

async function change(
  { operands: [name], values, terminal }: Call<typeof CHANGE_OPTIONS>,
  accepting: boolean,
): Promise<number> {
  const { setAccepting } = await import('../shard-databases.js');
  const { by = userOf(terminal), reason } = values;
  const who = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  const changed = await setAccepting(name!, accepting, who, values, terminal);
  const state = accepting ? 'accepts new sagas' : 'accepts no new sagas';
  const text = changed ? `Shard '${name}' ${state}` : `Shard '${name}' ${state}, as before`;
  terminal.out(values.json ? JSON.stringify({ changed }) : text);
  return EXIT.done;
}

const STAYS: Record<StayReason, string> = {
  running: 'run by a worker',
  'too-many': 'that belong to more than 1,000 sagas which move only together',
  'lock-held': 'whose lock another saga has on the other shard',
  schedule: 'started last by a schedule',
  messages: 'with messages that are not sent yet',
  transactional: 'with transactional steps',
  graph: 'whose graph the other shard does not have',
  'correlation-id': 'whose correlation id another saga has on the other shard',
  'no-shard': 'for which no shard accepts sagas',
};

function textOfMove(from: string, { moved, stayed, more }: MoveResult): string {
  const counts = Object.entries(moved);
  const where = counts.map(([name, count]) => `${count} to '${name}'`).join(', ');
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const staying = Object.entries(stayed).map(
    ([reason, count]) => `Not moved: ${count} saga(s) ${STAYS[reason as StayReason]}`,
  );
  return [
    `Moved ${total} saga(s) off shard '${from}'${where === '' ? '' : `: ${where}`}`,
    ...staying,
    ...(more ? ['The limit was reached: repeat the command for the others'] : []),
  ].join('\n');
}

function rowOf({ name, database, accepting, counts, cause }: ShardAt, paint: Paint): string[] {
  if (!counts) return [name ?? '?', paint('red', 'unreachable'), database, cause ?? ''];
  const { unfinished, needAttention, due, overdue, moving, oldestMove } = counts;
  const way = moving === 0 ? '' : `, ${moving} on their way since ${Math.round(oldestMove)} s`;
  return [
    name ?? '?',
    accepting ? paint('green', 'accepting') : paint('yellow', 'not accepting'),
    database,
    `${unfinished} unfinished, ${needAttention} need attention, ${due} due, ${overdue} overdue${way}`,
  ];
}

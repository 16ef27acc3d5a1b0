import { serializeError } from '../engine/payload/serialize-error.js';
import { moveSagas, type MoveResult, type MovingShard } from '../shards/move-sagas.js';
import { isTransientError } from '../store/postgres/connection/transient-errors.js';
import { PostgresMoves } from '../store/postgres/shards/postgres-moves.js';
import { onShard, placeOf, type ShardUrls, urlsOf } from './shard-databases.js';
import type { Terminal } from './terminal.js';
import { CannotTell, UsageError } from './usage-error.js';

export interface MoveAsked {
  readonly from: string;
  readonly to: string | undefined;
  readonly limit: number;
}

/**
 * Moves sagas off a shard. Whether the URLs are those of all shards is not known here, so the shards that receive sagas are
 * asked for all keys from then on.
 * @throws CannotTell if a database cannot be reached, or none of them is one of the shards
 */
export function moveShard(
  { from, to, limit }: MoveAsked,
  where: ShardUrls,
  terminal: Terminal,
): Promise<MoveResult> {
  const urls = urlsOf(where, terminal);
  if (urls.length < 2)
    throw new UsageError(
      'Give --url at least twice: for the shard that the sagas leave, and for those that receive them',
    );
  return onAll(urls, where, terminal, async (shards) => {
    const named = (name: string) => shardNamed(name, shards);
    const source = named(from);
    const target = to === undefined ? undefined : named(to);
    if (source === target) throw new UsageError(`--to is '${from}', the shard that the sagas leave`);
    if (target && !target.accepting)
      throw new CannotTell(`Shard '${target.name}' accepts no sagas. Admit it first`, 'SAGA_STATE');
    return moveSagas({ from: source, shards, to: target, limit, knowsAll: false });
  });
}

type OpenShard = MovingShard & { readonly moves: PostgresMoves };

/** Opens the databases, one within the other, and closes them after the work. */
async function onAll<T>(
  urls: readonly string[],
  where: ShardUrls,
  terminal: Terminal,
  work: (shards: readonly OpenShard[]) => Promise<T>,
  opened: readonly OpenShard[] = [],
): Promise<T> {
  const [url, ...others] = urls;
  if (url === undefined) return work(opened);
  let isOpen = false;
  try {
    return await onShard(url, where, terminal, (_, { name, accepting }, __, sql, schema) => {
      isOpen = true;
      if (opened.some((shard) => shard.name === name))
        throw new CannotTell(
          `Two databases have the name '${name}'. Give the URL of only one`,
          'SAGA_CONFIGURATION',
        );
      const shard = { name, accepting, moves: new PostgresMoves(sql, schema) };
      return onAll(others, where, terminal, work, [...opened, shard]);
    });
  } catch (error) {
    if (isOpen || !isTransientError(error)) throw error;
    throw new CannotTell(
      `${placeOf(url)} cannot be reached: ${serializeError(error).message}`,
      'SAGA_SHARD_UNAVAILABLE',
    );
  }
}

function shardNamed(name: string, shards: readonly OpenShard[]): OpenShard {
  const shard = shards.find((one) => one.name === name);
  if (shard) return shard;
  throw new CannotTell(
    `None of the databases is the shard '${name}': ${shards.map((one) => one.name).join(', ')}. Give its URL as --url`,
    'SAGA_VALIDATION',
  );
}

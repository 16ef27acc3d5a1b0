import * as kind from '../../definition/options/kinds.js';
import { optional, type OptionTable, required } from '../../definition/options/option-reader.js';
import type { JetStreamManager } from './nats-packages.js';

/** A stream of NATS JetStream. */
export interface JetStreamStream {
  /** The name of the stream. */
  readonly name: string;
  /** The subjects of the stream, such as `['orders.>']`. */
  readonly subjects: readonly string[];
  /**
   * Further settings of the stream, as in `streams.add` of `@nats-io/jetstream`: storage, num_replicas, max_age, …
   * Default: the server's.
   */
  readonly config?: object;
}

export const STREAM = kind.object(
  {
    name: required(kind.text),
    subjects: required(kind.checked<readonly string[]>(Array.isArray, "give an array such as ['orders.>']")),
    config: optional(kind.anything<object>()),
  } satisfies OptionTable<JetStreamStream>,
  "{ name, subjects: ['orders.>'] }",
);

/** For the `catch` of a question for a stream or a consumer: undefined if the server does not have it. */
export function ifMissing(error: unknown): undefined {
  if ((error as { status?: unknown }).status !== 404) throw error;
}

/**
 * Creates the stream, or adds missing subjects to an existing stream. Other settings of an existing stream stay
 * unchanged.
 */
export async function ensureStream(
  manager: JetStreamManager,
  { name, subjects, config }: JetStreamStream,
): Promise<void> {
  const there = await manager.streams.info(name).catch(ifMissing);
  if (!there) return void (await manager.streams.add({ ...config, name, subjects: [...subjects] }));
  const all = [...new Set([...there.config.subjects, ...subjects])];
  if (all.length > there.config.subjects.length)
    await manager.streams.update(name, { ...there.config, subjects: all });
}

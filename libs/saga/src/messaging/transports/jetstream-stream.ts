import type { JetStreamManager } from './nats-packages.js';

/** A stream of NATS JetStream. */
export interface JetStreamStream {
  /** As the server knows it. */
  readonly name: string;
  /** The subjects that it takes, such as `['orders.>']`. */
  readonly subjects: readonly string[];
  /**
   * Further settings of the stream, as `streams.add` of `@nats-io/jetstream` takes them: storage, num_replicas, max_age, …
   * Default: the server's.
   */
  readonly config?: object;
}

/** Makes the stream, or adds the subjects that it lacks; nothing else of one that is there is changed. */
export async function ensureStream(
  manager: JetStreamManager,
  { name, subjects, config }: JetStreamStream,
): Promise<void> {
  const there = await manager.streams.info(name).catch((error: unknown) => {
    if ((error as { status?: unknown }).status === 404) return undefined;
    throw error;
  });
  if (!there) return void (await manager.streams.add({ ...config, name, subjects: [...subjects] }));
  const all = [...new Set([...there.config.subjects, ...subjects])];
  if (all.length > there.config.subjects.length)
    await manager.streams.update(name, { ...there.config, subjects: all });
}

import { shown } from '../../shared/shown-value.js';
import { SagaValidationError } from '../../errors.js';
import { readOptions } from '../../nest/calls/call-options.js';
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

/** @throws SagaValidationError when it has no name or subjects, or an unknown option */
export function readStream(owner: string, given: JetStreamStream): JetStreamStream {
  const stream = readOptions(`${owner}: stream`, given, ['name', 'subjects', 'config']);
  const { name, subjects } = stream;
  if (typeof name !== 'string' || !Array.isArray(subjects))
    throw new SagaValidationError(
      `${owner}: stream is ${shown(given)}; give { name, subjects: ['orders.>'] }.`,
    );
  return stream as JetStreamStream;
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

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { OnApplicationShutdown } from '@nestjs/common';

/** What the process of embedded-postgres.ts says once: where the server is, or why there is none. */
export type EmbeddedServerMessage =
  | { readonly url: string }
  | { readonly error: string; readonly portInUse: boolean };

/** Between finding a free port and using it, another process may have taken it. */
const START_ATTEMPTS = 3;

/** The PostgreSQL server: the one that DATABASE_URL names, or one of our own that ends with this process. */
export class DatabaseServer implements OnApplicationShutdown {
  private constructor(
    readonly url: string,
    private readonly owned?: ChildProcess,
  ) {}

  static async at(url: string | undefined): Promise<DatabaseServer> {
    if (url) return new DatabaseServer(url);
    for (let attempt = 1; ; attempt += 1) {
      const { child, message } = await startEmbedded();
      if ('url' in message) return new DatabaseServer(message.url, child);
      if (!message.portInUse || attempt === START_ATTEMPTS)
        throw new Error(
          `The embedded PostgreSQL did not start. ${message.error}\n` +
            'To use a server of your own instead, set DATABASE_URL.',
        );
    }

    async function startEmbedded(): Promise<{ child: ChildProcess; message: EmbeddedServerMessage }> {
      const program = fileURLToPath(new URL('./embedded-postgres.js', import.meta.url));
      // Detached: ctrl-C in a terminal reaches a whole process group, and must not take the database away from
      // sagas that are coming to rest. It ends when our end of the channel closes, even by kill -9.
      const child = fork(program, { detached: true, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
      return { child, message: await firstMessage(child) };
    }
  }

  /** Is it our own? */
  get embedded(): boolean {
    return this.owned !== undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stop();
  }

  /** Stops the server if it is ours, and removes its data. */
  async stop(): Promise<void> {
    const child = this.owned;
    if (!child?.connected) return;
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  }
}

function firstMessage(child: ChildProcess): Promise<EmbeddedServerMessage> {
  let written = '';
  child.stderr!.setEncoding('utf8').on('data', (text) => (written = (written + text).slice(-2_000)));
  return new Promise((resolve) => {
    const failed = (error: string) => resolve({ error, portInUse: false });
    child.once('message', (message) => resolve(message as EmbeddedServerMessage));
    child.once('error', (error) => failed(error.message));
    child.once('close', (code, signal) => failed(`Its process ended with ${signal ?? code}:\n${written}`));
  });
}

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConsoleLogger } from '@nestjs/common';
import { Daemon, type DaemonOptions } from '../../../libs/declared/src/daemon/daemon.js';
import { AdminClient } from '../../admin/support/admin-client.js';
import { until } from '../../support/gate.js';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';

/** Keeps the messages of the log. */
class KeptLog extends ConsoleLogger {
  constructor(private readonly lines: string[]) {
    super();
  }

  protected override printMessages(messages: unknown[]): void {
    this.lines.push(...messages.map(String));
  }
}

/** A folder of declared sagas with a database of its own, and the daemons of this process that serve it. */
export class ServedFolder {
  readonly log: string[] = [];
  private readonly daemons = new Set<Daemon>();

  private constructor(
    readonly folder: string,
    readonly database: TestDatabase,
  ) {}

  static async create(files: Readonly<Record<string, string>>): Promise<ServedFolder> {
    const folder = await mkdtemp(join(tmpdir(), 'saga-serve-'));
    const served = new ServedFolder(folder, await createTestDatabase());
    for (const [name, text] of Object.entries(files)) await served.write(name, text);
    return served;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async write(name: string, text: string): Promise<string> {
    await writeFile(this.path(name), text);
    return this.path(name);
  }

  remove(name: string): Promise<void> {
    return rm(this.path(name));
  }

  /** The lines that commands wrote to the file `log`. */
  async did(): Promise<string[]> {
    const text = await readFile(this.path('log'), 'utf8').catch(() => '');
    return text.split('\n').filter(Boolean);
  }

  async start(options: Partial<DaemonOptions> = {}): Promise<Daemon> {
    const daemon = await Daemon.start(
      {
        ...{
          files: [this.path('*.yaml')],
          url: this.database.url,
          connections: 5,
          host: '127.0.0.1',
          port: 0,
        },
        ...{ allowAnonymous: false, watch: false, ...options },
      },
      new KeptLog(this.log),
    );
    this.daemons.add(daemon);
    return daemon;
  }

  async stop(daemon: Daemon): Promise<void> {
    this.daemons.delete(daemon);
    await daemon.stop();
  }

  /** Resolves with the first line of the log that matches. */
  logged(pattern: RegExp): Promise<string> {
    return until(() => this.log.find((line) => pattern.test(line)));
  }

  async end(): Promise<void> {
    await Promise.all([...this.daemons].map((daemon) => daemon.stop()));
    await this.database.drop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export function clientOf({ address }: Daemon, token?: string): AdminClient {
  return new AdminClient(`${address}/sagas`, token === undefined ? {} : { authorization: `Bearer ${token}` });
}

/** A command that adds a line to the file `log`. */
export const did = (what: string): string => `[sh, -c, 'echo "${what}" >> log']`;

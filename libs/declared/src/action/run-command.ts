import { type ChildProcess, spawn } from 'node:child_process';

/** A command to run. */
export interface CommandToRun {
  readonly program: string;
  readonly args: readonly string[];
  /** `program` is a text for the shell. */
  readonly shell: boolean;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** The maximum size of the output in bytes. */
  readonly maxBytes: number;
}

/** A command that has exited. */
export interface CommandEnd {
  readonly kind: 'exited';
  readonly code: number;
  readonly output: string;
  /** The end of its standard error. */
  readonly error: string;
}

/** The outcome of a command. `interrupted`: its effect is unknown. */
export type CommandOutcome =
  | CommandEnd
  | { readonly kind: 'not-started' | 'interrupted'; readonly problem: string };

/** Milliseconds between the request to end and the end by force. */
const GRACE = 5_000;
/**
 * Milliseconds without output after which a command that has exited is over. A process that it started in the background,
 * and that goes on, may hold its output open.
 */
const QUIET = 1_000;
/** Characters of standard error that are kept. */
const LONGEST_ERROR = 2_000;

/**
 * Runs a command in a process group of its own, so that the processes that it starts end with it. After an abort, the
 * group has 5 seconds to end.
 */
export function runCommand(command: CommandToRun, signal: AbortSignal): Promise<CommandOutcome> {
  return new Promise((done) => {
    if (signal.aborted) return done({ kind: 'not-started', problem: 'the attempt was aborted' });
    let child: ChildProcess;
    try {
      const { program, args, shell, folder, env } = command;
      child = spawn(program, args, { shell, cwd: folder, env, detached: process.platform !== 'win32' });
    } catch (error) {
      return done({ kind: 'not-started', problem: (error as Error).message });
    }
    new RunningCommand(child, command, signal, done);
  });
}

class RunningCommand {
  private readonly output: Buffer[] = [];
  private bytes = 0;
  private error = '';
  private interrupted: string | undefined;
  private killing: NodeJS.Timeout | undefined;
  private ending: NodeJS.Timeout | undefined;
  private readonly onAbort = (): void => this.end(reasonOf(this.signal));

  constructor(
    private readonly child: ChildProcess,
    private readonly command: CommandToRun,
    private readonly signal: AbortSignal,
    private readonly done: (outcome: CommandOutcome) => void,
  ) {
    signal.addEventListener('abort', this.onAbort, { once: true });
    child.on('error', (error) => this.settled({ kind: 'not-started', problem: error.message }));
    child.on('exit', () => {
      // What it has started must not outlive it, or its output would stay open.
      if (this.interrupted !== undefined) this.signalGroup('SIGKILL');
      this.ending = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, QUIET);
    });
    child.on('close', (code, by) => this.closed(code, by));
    child.stdout?.on('data', (part: Buffer) => this.received(part));
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      this.ending?.refresh();
      this.error = (this.error + part).slice(-LONGEST_ERROR);
    });
    // A command that does not read its input closes it.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(command.stdin);
  }

  private received(part: Buffer): void {
    this.ending?.refresh();
    this.bytes += part.length;
    if (this.bytes <= this.command.maxBytes) this.output.push(part);
    else this.end(`wrote more than ${this.command.maxBytes} bytes. Set maxBytes, or write less`);
  }

  private end(problem: string): void {
    if (this.interrupted !== undefined) return;
    this.interrupted = problem;
    this.signalGroup('SIGTERM');
    this.killing = setTimeout(() => this.signalGroup('SIGKILL'), GRACE);
  }

  private signalGroup(signal: NodeJS.Signals): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      if (process.platform === 'win32') this.child.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // All of its processes have ended.
    }
  }

  private closed(code: number | null, by: NodeJS.Signals | null): void {
    if (this.interrupted !== undefined) this.settled({ kind: 'interrupted', problem: this.interrupted });
    else if (code === null) this.settled({ kind: 'interrupted', problem: `was ended by ${by}` });
    else {
      const output = Buffer.concat(this.output).toString('utf8');
      this.settled({ kind: 'exited', code, output, error: this.error.trim() });
    }
  }

  private settled(outcome: CommandOutcome): void {
    clearTimeout(this.killing);
    clearTimeout(this.ending);
    this.signal.removeEventListener('abort', this.onAbort);
    this.done(outcome);
  }
}

function reasonOf({ reason }: AbortSignal): string {
  return `was aborted: ${reason instanceof Error ? reason.message : String(reason)}`;
}

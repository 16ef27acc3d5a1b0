import { colored } from './text/style.js';
import { createInterface } from 'node:readline/promises';

/** Where a command writes and asks. */
export interface Terminal {
  /** A line, or several. */
  out(text: string): void;
  error(text: string): void;
  /** Text as it is: redrawing moves the cursor. */
  write(text: string): void;
  /** The answer to a question; only where `interactive`. */
  ask(question: string): Promise<string>;
  /**
   * Calls this when the user or the system interrupts the command for the first time; the second time ends it. Returns a
   * function that stops listening. Absent: the first time ends it.
   */
  onInterrupt?(interrupted: () => void): () => void;
  /**
   * Calls this when the reader of the output has ended, instead of ending the process with 0: `saga list | head`. Absent: the
   * output is kept.
   */
  onOutputClosed?(closed: () => void): void;
  /** All that is piped in. */
  input(): Promise<string>;
  /** An operator sits in front of it: both ends are a terminal. */
  readonly interactive: boolean;
  readonly colors: boolean;
  /** Characters in a line; undefined: no terminal, nothing is cut. */
  readonly columns?: number;
  readonly rows?: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Everything that colors, moves a cursor, rings, or retitles a window: texts that are shown may come from anywhere. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text as it may be written to a terminal: of codes it has the colors that commands paint, and no others. */
export function harmless(text: string): string {
  return colored(text.replace(CONTROLS, '\ufffd'));
}

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  let closed: (() => void) | undefined;
  for (const stream of [stdout, stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (closed) closed();
      else process.exit(code === 'EPIPE' ? 0 : 2);
    });
  return {
    out: (text) => stdout.write(`${harmless(text)}\n`),
    error: (text) => stderr.write(`${harmless(text)}\n`),
    write: (text) => stdout.write(text),
    ask: async (question) => {
      const lines = createInterface({ input: stdin, output: stdout });
      try {
        return await lines.question(harmless(question));
      } finally {
        lines.close();
      }
    },
    onInterrupt: (interrupted) => {
      const stop = () => INTERRUPTS.forEach((signal) => process.off(signal, first));
      const first = () => {
        stop();
        interrupted();
      };
      INTERRUPTS.forEach((signal) => process.on(signal, first));
      return stop;
    },
    onOutputClosed: (listener) => void (closed = listener),
    input: async () => {
      let text = '';
      for await (const part of stdin.setEncoding('utf8')) text += part as string;
      return text;
    },
    interactive: stdin.isTTY && stdout.isTTY,
    colors: stdout.isTTY && !env.NO_COLOR && env.TERM !== 'dumb',
    columns: stdout.isTTY ? stdout.columns : undefined,
    rows: stdout.isTTY ? stdout.rows : undefined,
    environment: env,
  };
}

import { paint } from './terminal.js';

/** What a demo plays on: processes, and whatever they need. */
export interface DemoStage {
  readonly processes: readonly { readonly lastWords: string }[];
  close(): Promise<void>;
}

/**
 * Plays a demo, closes its stage whichever way it ends, and ends this process: with 0 if every claim holds, with 1 if not.
 * @param play gives what is wrong, a line each
 */
export async function runDemo<S extends DemoStage>(
  stage: S,
  play: (stage: S) => Promise<string[]>,
): Promise<void> {
  let interrupted = false;
  const interrupt = (code: number): void => {
    interrupted = true;
    void stage.close().finally(() => process.exit(code));
  };
  process.on('SIGINT', () => interrupt(130));
  process.on('SIGTERM', () => interrupt(143));
  process.on('SIGHUP', () => interrupt(129));
  const startedAt = Date.now();
  let problems: string[];
  try {
    problems = await play(stage);
  } catch (error) {
    // It broke off because of that, and the process ends once the stage is closed.
    if (interrupted) return;
    problems = [(error as Error).message];
    for (const { lastWords } of stage.processes) console.error(paint('dim', `\nLast words of ${lastWords}`));
  }
  await stage.close();
  if (problems.length > 0) {
    console.error(paint('red', `\nThe demo FAILED:\n  ${problems.join('\n  ')}`));
    process.exit(1);
  }
  console.log(paint('green', `\nEvery claim holds (${((Date.now() - startedAt) / 1_000).toFixed(1)} s).`));
  process.exit(0);
}

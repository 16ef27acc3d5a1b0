import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { declareSaga } from '../index.js';
import { type CommandToRun, runCommand } from './run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'declared-'));

async function run(text: string, input: unknown = {}, TOKEN = 'token-of-env') {
  const environment = { PATH: process.env.PATH, TOKEN };
  const saga = await declareSaga(text, { environment, file: join(folder, 'saga.yaml') });
  return testOf(saga).run(input);
}

/** A step that runs a script of the shell, given as a file. */
function script(name: string, text: string, more = ''): string {
  writeFileSync(join(folder, name), text);
  return `work: { exec: { command: [sh, ./${name}]${more} } }`;
}

describe('a command', () => {
  test('gets its input, and who runs it, and its output is the result', async () => {
    const { id, outcome } = await run(
      withSteps(
        script(
          'echo.sh',
          `cat > in.json; printf '{"id":"%s","token":"%s"}' "$SAGA_IDEMPOTENCY_KEY" "$SAGA_FENCING_TOKEN"`,
          ', stdin: "{{ input }}"',
        ),
      ),
      { sku: 'cup' },
    );
    expect(outcome.results).toEqual({
      work: { id: `${id}:work`, token: expect.stringMatching(/^[1-9]\d*$/) },
    });
    expect(JSON.parse(readFileSync(join(folder, 'in.json'), 'utf8'))).toEqual({ sku: 'cup' });
  });

  test('has ended when it exits, also if a process that it has started holds its output', async () => {
    const began = performance.now();
    const command: CommandToRun = {
      ...{ program: 'sh', args: ['-c', 'echo before; sleep 30 & echo after; exit 0'], shell: false },
      ...{ folder, env: { PATH: process.env.PATH! }, stdin: '', maxBytes: 1_000 },
    };
    const outcome = await runCommand(command, new AbortController().signal);
    expect(outcome).toMatchObject({ kind: 'exited', code: 0, output: 'before\nafter\n' });
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test('gets its arguments as they are, without a shell', async () => {
    const { outcome } = await run(
      withSteps('say: { exec: { command: [printf, "%s", "{{ input.text }}"] } }'),
      {
        text: '$(id) "; rm -rf / #',
      },
    );
    expect(outcome.results).toEqual({ say: '$(id) "; rm -rf / #' });
  });

  test('runs in a shell if the file says so', async () => {
    const { outcome } = await run(
      withSteps(
        'say: { exec: { shell: true, command: \'echo "$WORD" | tr a-z A-Z\', env: { WORD: "{{ input.word }}" } } }',
      ),
      { word: 'cup' },
    );
    expect(outcome.results).toEqual({ say: 'CUP' });
  });

  test('gets no variables of this process but those of the file', async () => {
    process.env.DECLARED_SECRET = 'of this process';
    const { outcome } = await run(
      withSteps('say: { exec: { command: [env], env: { GIVEN: "{{ env.TOKEN }}" } } }'),
    );
    delete process.env.DECLARED_SECRET;
    const names = (outcome.results.say as string).split('\n').map((line) => line.split('=', 1)[0]);
    expect(names).toEqual(expect.arrayContaining(['PATH', 'GIVEN', 'SAGA_ID', 'SAGA_STEP', 'SAGA_ATTEMPT']));
    expect(names).not.toEqual(expect.arrayContaining(['DECLARED_SECRET']));
  });

  test('that exits with another code than 0 is retried, and its error has what it wrote', async () => {
    const { outcome, calls } = await run(
      withSteps(
        script('fail.sh', 'echo "no stock for token-of-env" >&2; exit 3', ', env: { T: "{{ env.TOKEN }}" }'),
      ),
    );
    expect(calls).toHaveLength(3);
    expect(outcome.failure!.error).toMatchObject({
      code: 'SAGA_STEP_CALL',
      message: "'sh' exited with 3: no stock for ***",
    });
  });

  test.each([
    ['within what it is encoded with', 'printf user:token-of-env | base64 >&2; exit 3', '***'],
    ['in a URL', 'echo "https://a/?t=token%20of-env" >&2; exit 3', 'https://a/?t=***'],
    [
      'that was cut',
      `printf token-of-env >&2; head -c 1993 /dev/zero | tr '\\0' . >&2; exit 3`,
      expect.stringMatching(/^\*\*\*\.+$/),
    ],
  ])('shows no secret %s', async (_, text, shown) => {
    const token = text.includes('%20') ? 'token of-env' : 'token-of-env';
    const { outcome } = await run(
      withSteps(script('leak.sh', text, ', env: { T: "{{ env.TOKEN }}" }')),
      {},
      token,
    );
    expect(outcome.failure!.error!.message.replace("'sh' exited with 3: ", '')).toEqual(shown);
  });

  test('that exits with a code in reject rejects the step', async () => {
    const { outcome, calls } = await run(withSteps(script('reject.sh', 'exit 65', ', reject: [65]')));
    expect(calls).toHaveLength(1);
    expect(outcome).toMatchObject({
      status: 'compensated',
      failure: { error: { code: 'SAGA_STEP_REJECTED' } },
    });
  });

  test('that does not exist has no effect', async () => {
    const { outcome } = await run(withSteps('work: { exec: { command: [./none] } }'));
    expect(outcome.failure!.error!.message).toMatch(/^'\.\/none' could not be started: .*ENOENT/);
  });

  test('that is ended by a signal leaves the outcome unknown', async () => {
    const { outcome } = await run(withSteps(script('killed.sh', 'kill -KILL $$')));
    expect(outcome.failure!.error).toMatchObject({
      code: 'SAGA_UNKNOWN_OUTCOME',
      message: "'sh' was ended by SIGKILL",
    });
  });

  test('that writes too much is ended', async () => {
    const { outcome } = await run(withSteps(script('yes.sh', 'yes', ', maxBytes: 1000')));
    expect(outcome.failure!.error!.message).toBe(
      "'sh' wrote more than 1000 bytes. Set maxBytes, or write less",
    );
  });

  test('answers as a probe: 0 is done, 1 is not', async () => {
    writeFileSync(join(folder, 'charge.sh'), 'echo . >> charged; kill -KILL $$');
    const probe = 'probe: { exec: { command: [sh, -c, "echo found"] } }';
    const { outcome } = await run(withSteps(`work: { exec: { command: [sh, ./charge.sh] }, ${probe} }`));
    expect(outcome).toMatchObject({ status: 'completed', results: { work: 'found' } });
    expect(readFileSync(join(folder, 'charged'), 'utf8')).toBe('.\n');
  });
});

describe('an abort', () => {
  const commandOf = (text: string): CommandToRun => ({
    ...{ program: 'sh', args: ['-c', text], shell: false, folder, maxBytes: 1_000, stdin: '' },
    env: { PATH: process.env.PATH! },
  });

  test('ends the whole group of processes, those that ignore SIGTERM included', async () => {
    const abort = new AbortController();
    const done = runCommand(
      commandOf(`(trap '' TERM; while :; do sleep 0.1; done) & echo $! > child; touch started; sleep 60`),
      abort.signal,
    );
    while (!existsSync(join(folder, 'started'))) await new Promise((resolve) => setTimeout(resolve, 10));
    abort.abort(new Error('timeout'));
    expect(await done).toEqual({ kind: 'interrupted', problem: 'was aborted: timeout' });
    const child = Number(readFileSync(join(folder, 'child'), 'utf8'));
    await expect(ended(child)).resolves.toBe(true);
  });

  test('before the start starts nothing', async () => {
    expect(await runCommand(commandOf('touch never'), AbortSignal.abort())).toMatchObject({
      kind: 'not-started',
    });
    expect(existsSync(join(folder, 'never'))).toBe(false);
  });
});

/** Whether a process has ended, or waits for its parent to read its exit code. */
async function ended(pid: number): Promise<boolean> {
  for (let looks = 0; looks < 500; looks += 1) {
    if (!isRunning(pid)) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/**
 * Builds the packages of the library and a demo, then runs one of the demo's programs in this very process:
 * `node run.mjs order-demo main` (npm start), `node run.mjs order-demo demo/play` (npm run demo).
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const workspace = fileURLToPath(new URL('..', import.meta.url));

const [demo, program] = process.argv.slice(2);

if (process.env.npm_lifecycle_event) endWithShell(process.ppid);
for (const [name, ...command] of [
  ['nestjs-durable-saga', 'scripts/build-packages.mjs'],
  [demo, 'scripts/compile.mjs', 'libs/demo-support', `apps/${demo}`],
]) {
  console.log(`Building ${name} …`);
  const { status } = spawnSync(process.execPath, command, { cwd: workspace, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
await import(`./${demo}/dist/${program}.js`);

/** npm sends SIGTERM to the shell in between, which exits without passing it on. */
function endWithShell(shell) {
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 200);
  watch.unref();
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command, EXIT, option, UsageError } from '../command.js';
import { columns } from '../text/columns.js';
import { installCommands, installPackages, neededPackages } from '../init/packages.js';
import { type NestApp, readNestApp } from '../init/nest-app.js';
import { chooseLayer, LAYER_NAMES } from '../init/layers.js';
import { type FileChange, folderOf } from '../init/file-change.js';
import { namesOf } from '../init/first-saga.js';
import { planInit } from '../init/plan-init.js';

export const init = command({
  words: 'init',
  operands: ['[<folder>]'],
  summary: 'Adds SagaModule, a first saga and its test to the Nest application in this folder',
  details:
    'Connects the sagas to the database layer of the application: the one that its package.json has, or --orm. ' +
    'Writes the saga to <folder> below the sources (default: orders), and names the saga, its module and its route by it. No file is overwritten. Existing files are edited if that ' +
    'is safe; otherwise the command prints the lines to add. A second run changes nothing.',
  examples: [
    'npx nestjs-durable-saga-cli init --install --postgres',
    'saga init --orm drizzle --install',
    'saga init --dry-run',
    'saga init checkout --project api',
  ],
  options: {
    install: option.flag('also install the missing packages'),
    postgres: option.flag('add a PostgreSQL server from npm for development: npm run postgres'),
    orm: option.text('<layer>', `the database layer: ${LAYER_NAMES.join(', ')}; default: by package.json`),
    project: option.text('<name>', 'the application, in a Nest monorepo or an Nx workspace'),
    'dry-run': option.flag('only show what would change'),
  },
  run: async ({ operands: [folder = 'orders'], values, terminal }) => {
    // It begins the names of classes.
    if (!/^[a-z][\w-]*(\/[a-z0-9][\w-]*)*$/i.test(folder))
      throw new UsageError(`'${folder}' is not a folder name below the sources; give one such as orders`);
    const app = readNestApp(process.cwd(), values.project);
    const { install = false, postgres = false, 'dry-run': dryRun = false } = values;
    const layer = await chooseLayer(app, values.orm, terminal);
    const plan = planInit(app, { folder, layer, postgres });
    if (!dryRun) plan.forEach((change) => apply(app.root, change));
    terminal.out(report(plan, dryRun).join('\n'));
    const commands = installCommands(app.packageManager, neededPackages(app, layer));
    if (install && !dryRun) for (const words of commands) await installPackages(words, app, terminal);
    terminal.out(next(app, folder, install && !dryRun ? [] : commands, postgres).join('\n'));
    return EXIT.done;
  },
});

function apply(root: string, change: FileChange): void {
  if (change.kind !== 'create' && change.kind !== 'edit') return;
  mkdirSync(folderOf(root, change), { recursive: true });
  // A file that another process has created since is left unchanged.
  writeFileSync(join(root, change.path), change.text, { flag: change.kind === 'create' ? 'wx' : 'w' });
}

const WORDS = { create: 'created', edit: 'edited', keep: 'left', 'by-hand': 'to do' } as const;

function report(plan: readonly FileChange[], dryRun: boolean): string[] {
  const rows = plan.map(({ kind, path, about }) => [`  ${WORDS[kind]}`, path, about]);
  const lines = plan.flatMap((change) =>
    change.kind === 'by-hand' && change.lines.length > 0
      ? ['', `To add to ${change.path}:`, ...change.lines.map((line) => `  ${line}`)]
      : [],
  );
  const changed = plan.some(({ kind }) => kind === 'create' || kind === 'edit');
  const head = dryRun ? ['Nothing was changed (--dry-run). Without --dry-run:'] : [];
  return [...head, ...columns(rows), ...lines, ...(changed && !dryRun ? ['', ...undoing(plan)] : [])];
}

function undoing(plan: readonly FileChange[]): string[] {
  const pathsOf = (kind: FileChange['kind']) =>
    plan.filter((one) => one.kind === kind).map(({ path }) => path);
  const [made, edited] = [pathsOf('create'), pathsOf('edit')];
  return [
    'To undo these changes:',
    ...(made.length > 0 ? [`  rm ${made.join(' ')}`] : []),
    ...(edited.length > 0 ? [`  git diff ${edited.join(' ')}   # what was added to them`] : []),
  ];
}

function next(app: NestApp, folder: string, commands: readonly string[][], postgres: boolean): string[] {
  const run = `${app.packageManager} run`;
  const [test, start] = app.nxName
    ? [`npx nx test ${app.nxName}`, `npx nx serve ${app.nxName}`]
    : [`${run} test`, `${run} start`];
  // Nx gives its applications a prefix.
  const orders = `localhost:3000/${app.nxName ? 'api/' : ''}${namesOf(folder).route}`;
  const order = `-H 'content-type: application/json' -d '{"orderId":"1","sku":"cup","amount":20}'`;
  const calls = [`curl -X POST ${orders} ${order}`, `curl ${orders}/1`];
  const rows = [
    ...(app.runner ? [[`  ${test}`, '# tests the saga in every failure case, without a database']] : []),
    postgres
      ? [`  ${run} postgres`, '# in a second terminal; or set DATABASE_URL to your own PostgreSQL']
      : ['  export DATABASE_URL=postgres://…', '# your PostgreSQL; if you have none: saga init --postgres'],
    [`  ${start}`, ''],
  ];
  return [
    '',
    'Next:',
    ...commands.map((words) => `  ${words.join(' ')}`),
    ...columns(rows),
    ...(app.hasHttp ? calls.map((call) => `  ${call}`) : []),
    '',
    'Kill the application during the order (kill -9) and start it again. Within 30 s the lease of the dead process expires,',
    'and the order continues where it stopped. npx saga list shows it.',
  ];
}

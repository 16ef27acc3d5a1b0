import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { DATABASE_FOLDER, DATABASE_MODULE, databaseModule } from './database-module.js';
import { importLines, type ModuleImport, type Ts, withModuleImports } from './edit-sources.js';
import { type FileChange, readOr } from './file-change.js';
import { namesOf } from './first-saga.js';
import { type Layer, TYPEORM } from './layers.js';
import { DEVELOPMENT_URL, isInSources, type NestApp } from './nest-app.js';

/** The root module, and what it is to import. */
export interface Target {
  /** The root module's file. */
  readonly module: string;
  /** The folder of the first saga. */
  readonly folder: string;
  readonly extension: '.js' | '';
  readonly layer: Layer;
}

/** The changes that make the root module import the database, SagaModule and the first saga. */
export function moduleChanges(app: NestApp, ts: Ts | undefined, target: Target): FileChange[] {
  const { module: path } = target;
  const source = readOr(app, path, (text) => text);
  const wanted = missingImports(app, target);
  const added =
    wanted.length === 0
      ? { kind: 'keep' as const, path, about: 'already imports all modules' }
      : addedImports(ts, path, source, wanted);
  return [...databaseFiles(app, target), added, ...manualSteps(app, target)];
}

function addedImports(
  ts: Ts | undefined,
  path: string,
  source: string | undefined,
  wanted: readonly ModuleImport[],
): FileChange {
  const names = wanted.map(({ expression }) => nameOf(expression)).join(', ');
  const text = ts && source !== undefined ? withModuleImports(ts, source, wanted) : undefined;
  if (text !== undefined) return { kind: 'edit', path, text, about: `imports ${names}` };
  const lines = [
    ...importLines(wanted.flatMap(({ needs }) => needs)),
    ...wanted.map(({ expression }) => `${expression},  // in imports of @Module()`),
  ];
  return { kind: 'by-hand', path, lines, about: `add to your root module, which ${whyByHand(ts, source)}` };
}

/** `SagaModule.forRoot()` is the module SagaModule. */
function nameOf(expression: string): string {
  return /^\w+/.exec(expression)![0];
}

function whyByHand(ts: Ts | undefined, source: string | undefined): string {
  if (source === undefined) return 'was not found';
  return ts ? 'does not have the usual structure' : 'cannot be read without the package typescript';
}

/** A second connection would be a second pool, and another database perhaps. */
type Connection = 'none' | 'by the application' | 'by a package' | 'by saga init';

function connectionOf(app: NestApp, layer: Layer): Connection {
  if (layer.partsOf && isInSources(app, /\bSAGA_DATABASE\b/)) return 'by saga init';
  if (isInSources(app, layer.connection)) return 'by the application';
  if (!layer.partsOf) return app.typeormUser === undefined ? 'none' : 'by a package';
  return existsSync(join(app.root, databaseFile(app))) ? 'by the application' : 'none';
}

function databaseFile({ sourceRoot }: NestApp): string {
  return posix.join(sourceRoot, DATABASE_FOLDER, `${DATABASE_MODULE}.ts`);
}

function databaseFiles(app: NestApp, { layer, extension }: Target): FileChange[] {
  if (!layer.partsOf) return [];
  const path = databaseFile(app);
  const about = `connects ${layer.title}, and gives its connections to sagas`;
  if (connectionOf(app, layer) === 'by saga init')
    return existsSync(join(app.root, path)) ? [{ kind: 'keep', path, about: 'already exists' }] : [];
  if (hasSagaModule(app) || connectionOf(app, layer) !== 'none') return [];
  const parts = layer.partsOf(app, extension);
  const created: FileChange = { kind: 'create', path, text: databaseModule(parts), about };
  return [...(parts.file ? [{ kind: 'create' as const, ...parts.file }] : []), created];
}

const hasSagaModule = (app: NestApp): boolean => isInSources(app, /\bSagaModule\s*\.forRoot(Async)?\(/);

/** What is left out because the application connects the database itself. */
function manualSteps(app: NestApp, { layer, extension, module: path }: Target): FileChange[] {
  if (hasSagaModule(app)) return [];
  const connection = connectionOf(app, layer);
  if (connection === 'by a package') {
    const about = `TypeOrmModule was left out: ${app.typeormUser} depends on @nestjs/typeorm and may connect it`;
    return [
      { kind: 'by-hand', path, about, lines: [`${TYPEORM_MODULE}, // if no other module connects TypeORM`] },
    ];
  }
  if (!layer.partsOf || connection !== 'by the application') return [];
  const { adapter } = layer.partsOf(app, extension);
  const name = /^\w+/.exec(adapter)![0];
  const [usesPool, isAsync] = [/\bpool\b/.test(adapter), /\bawait\b/.test(adapter)];
  const lines = [
    ...importLines([
      { name: 'SagaModule', from: 'nestjs-durable-saga' },
      { name, from: `nestjs-durable-saga/${layer.name}` },
    ]),
    'SagaModule.forRootAsync({  // in imports of @Module()',
    '  imports: [DatabaseModule],  // your module that exports the connection',
    `  inject: [DATABASE${usesPool ? ', POOL' : ''}],  // its token${usesPool ? ', and that of its pool' : ''}`,
    `  useFactory: ${isAsync ? 'async ' : ''}(db${usesPool ? ', pool' : ''}) => ({ database: ${adapter} }),`,
    '}),',
  ];
  const about = `SagaModule was left out: the sources connect ${layer.title}. Give it that database`;
  return [{ kind: 'by-hand', path, about, lines }];
}

const TYPEORM_MODULE = `TypeOrmModule.forRoot({
  type: 'postgres',
  url:
    process.env.DATABASE_URL ??
    '${DEVELOPMENT_URL}',
})`;

const SAGA_MODULE_OF_DATABASE = `SagaModule.forRootAsync({
  imports: [DatabaseModule],
  inject: [SAGA_DATABASE],
  useFactory: (database: SagaDatabase) => ({ database }),
})`;

/** What no file of the application has yet: modules may be imported by others than the root module. */
function missingImports(app: NestApp, target: Target): ModuleImport[] {
  return [...databaseImports(app, target), ...sagaImports(app, target)];
}

/** The application may have a module of this name of its own: the root module, for example. */
function sagaImports(app: NestApp, target: Target): ModuleImport[] {
  const { module, route } = namesOf(target.folder);
  const name = `${module}Module`;
  const file = `${route}.module`;
  const imported = String.raw`\bimport\b[^;]*\b${name}\b[^;]*\bfrom\s*['"]`;
  const path = posix.join(target.folder, file).replaceAll('.', String.raw`\.`);
  if (isInSources(app, new RegExp(String.raw`${imported}(\.{1,2}/)+${path}\b`))) return [];
  const from = fromRoot(app, target, target.folder, file);
  const isRoot = readOr(app, target.module, (source) => source.includes(`class ${name} `));
  const others = databaseImports(app, target).flatMap(({ needs }) => needs);
  const isTaken = isRoot || others.some((one) => one.name === name) || isInSources(app, new RegExp(imported));
  return isTaken
    ? [{ expression: `Saga${name}`, needs: [{ name: `${name} as Saga${name}`, from }] }]
    : [{ expression: name, needs: [{ name, from }] }];
}

function databaseImports(app: NestApp, target: Target): ModuleImport[] {
  const { layer } = target;
  const saga = { name: 'SagaModule', from: 'nestjs-durable-saga' };
  const connection = connectionOf(app, layer);
  if (layer === TYPEORM)
    return [
      ...(connection === 'none'
        ? [{ expression: TYPEORM_MODULE, needs: [{ name: 'TypeOrmModule', from: '@nestjs/typeorm' }] }]
        : []),
      ...(hasSagaModule(app) ? [] : [{ expression: 'SagaModule.forRoot()', needs: [saga] }]),
    ];
  if (hasSagaModule(app) || connection === 'by the application') return [];
  const file = fromRoot(app, target, DATABASE_FOLDER, DATABASE_MODULE);
  const needs = [
    { name: 'SagaDatabase', from: 'nestjs-durable-saga/database', isType: true as const },
    saga,
    ...['DatabaseModule', 'SAGA_DATABASE'].map((name) => ({ name, from: file })),
  ];
  return [{ expression: SAGA_MODULE_OF_DATABASE, needs }];
}

/** The specifier of a file below the sources, as the root module imports it. */
function fromRoot(app: NestApp, { module, extension }: Target, folder: string, file: string): string {
  const path = posix.relative(posix.dirname(module), posix.join(app.sourceRoot, folder, file));
  return `${path.startsWith('.') ? path : `./${path}`}${extension}`;
}

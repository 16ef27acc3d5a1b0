import { existsSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readEntryFile, type Ts, typeScriptOf, withShutdownHooks } from './edit-sources.js';
import { type FileChange, readOr } from './file-change.js';
import { firstSaga, namesOf } from './first-saga.js';
import type { Layer } from './layers.js';
import type { NestApp } from './nest-app.js';
import { moduleChanges } from './plan-module.js';
import {
  editedJson,
  JEST_LINES,
  type Json,
  needsManualJestConfig,
  withJestTransform,
  withPostgresScript,
} from './json-edits.js';
import { Refusal } from '../command.js';

export interface InitOptions {
  readonly layer: Layer;
  /** With a PostgreSQL from npm. */
  readonly postgres: boolean;
  /** The folder of the first saga, below the sources. */
  readonly folder: string;
}

/**
 * All that makes an application have a first saga.
 * @throws Refusal when the folder is in use
 */
export function planInit(app: NestApp, options: InitOptions): FileChange[] {
  const ts = typeScriptOf(app.root);
  const main = posix.join(app.sourceRoot, app.entryFile);
  const entry = ts && readOr(app, main, (source) => readEntryFile(ts, source));
  const module = rootModuleFile(app, entry?.rootModule?.from);
  const extension = usesExtensions(app, entry?.rootModule?.from) ? '.js' : '';
  return [
    ...sagaFiles(app, options.folder, extension),
    ...moduleChanges(app, ts, { ...options, module, extension }),
    mainChange(app, ts, main),
    ...packageChange(app, options),
    ...ignoreChange(app, options, extension),
  ];
}

function usesExtensions({ isModule }: NestApp, specifier: string | undefined): boolean {
  return specifier === undefined ? isModule : specifier.endsWith('.js');
}

function rootModuleFile({ sourceRoot }: NestApp, specifier = './app.module'): string {
  return posix.join(sourceRoot, `${specifier.replace(/\.js$/, '')}.ts`);
}

function sagaFiles(app: NestApp, folder: string, extension: '.js' | ''): FileChange[] {
  const where = posix.join(app.sourceRoot, folder);
  const names = namesOf(folder);
  const files = firstSaga({ ...app, extension, namesInjected: app.testsLackTypes }, names);
  const there = join(app.root, where);
  const isOurs = existsSync(join(there, `${names.sagaFile}.ts`));
  if (existsSync(there) && readdirSync(there).length > 0 && !isOurs) {
    throw new Refusal(
      `${where} already exists and contains other files. Give another folder: saga init checkout`,
      'FOLDER_IN_USE',
    );
  }
  return files.map(({ name, text, about }) => {
    const path = posix.join(where, name);
    return existsSync(join(app.root, path))
      ? { kind: 'keep', path, about: 'already exists' }
      : { kind: 'create', path, text, about };
  });
}

function mainChange(app: NestApp, ts: Ts | undefined, path: string): FileChange {
  const source = readOr(app, path, (text) => text);
  if (source?.includes('enableShutdownHooks')) return { kind: 'keep', path, about: 'has shutdown hooks' };
  const text = ts && source !== undefined ? withShutdownHooks(ts, source) : undefined;
  if (text !== undefined) return { kind: 'edit', path, text, about: 'drains sagas on SIGTERM' };
  const lines = ['app.enableShutdownHooks();'];
  return {
    kind: 'by-hand',
    path,
    lines,
    about: 'add after NestFactory.create(), so that SIGTERM drains sagas',
  };
}

function packageChange(app: NestApp, { postgres }: InitOptions): FileChange[] {
  const scripts = postgres
    ? jsonChange(app, 'package.json', [withPostgresScript], 'the script postgres')
    : undefined;
  if (app.runner !== 'jest' || app.isModule || app.nestMajor >= 12) return scripts ? [scripts] : [];
  return jestChanges(app, postgres);
}

/** Nest 12 brings what ES modules in Jest take, and Nest 11 does not. */
function jestChanges(app: NestApp, postgres: boolean): FileChange[] {
  const about = 'Jest compiles the ES modules of this package';
  const also = postgres ? [withPostgresScript] : [];
  const inPackage = [...also, (json: Json) => withJestTransform(json.jest)];
  const changes = [
    jsonChange(app, 'package.json', inPackage, postgres ? `${about}; the script postgres` : about),
    jsonChange(app, 'test/jest-e2e.json', [withJestTransform], about),
  ];
  const { jest } = readOr(app, 'package.json', (text) => JSON.parse(text) as Json)!;
  const manualStep: FileChange = {
    kind: 'by-hand',
    path: jest === undefined ? 'jest.config' : 'package.json',
    about: `configure Jest to compile the ES modules of this package: docs/testing.md, "In Jest"`,
    lines: JEST_LINES,
  };
  return [
    ...changes.filter((one) => one !== undefined),
    ...(needsManualJestConfig(jest) ? [manualStep] : []),
  ];
}

function jsonChange(
  app: NestApp,
  path: string,
  edits: readonly ((json: Json) => boolean)[],
  about: string,
): FileChange | undefined {
  const text = readOr(app, path, (source) => source);
  if (text === undefined) return undefined;
  const edited = editedJson(text, edits);
  return edited === text
    ? { kind: 'keep', path, about: 'is unchanged' }
    : { kind: 'edit', path, text: edited, about };
}

/** What is not to be committed. */
function ignoreChange(app: NestApp, { postgres, layer }: InitOptions, extension: '.js' | ''): FileChange[] {
  const path = '.gitignore';
  const text = readOr(app, path, (source) => source);
  if (text === undefined) return [];
  const { ignored } = layer.partsOf?.(app, extension) ?? {};
  const wanted = [
    ...(postgres ? [['.postgres/', 'the data of npm run postgres'] as const] : []),
    ...(ignored !== undefined ? [[ignored, 'what Prisma generates'] as const] : []),
  ].filter(([line]) => !text.split(/\r?\n/).some((one) => bare(one) === bare(line)));
  if (wanted.length === 0) return [];
  const lines = wanted.map(([line]) => `${line}\n`).join('');
  const about = `ignores ${wanted.map(([, what]) => what).join(', and ')}`;
  return [
    { kind: 'edit', path, about, text: `${text}${text.endsWith('\n') || text === '' ? '' : '\n'}${lines}` },
  ];
}

/** Without the slashes around it. */
const bare = (line: string): string => line.replace(/^\/|\/$/g, '');

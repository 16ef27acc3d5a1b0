import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { OptionReader } from '../definition/options/option-reader.js';
import { textOfFlaw, textOfProblems } from '../shared/diagnostic.js';
import { shown } from '../shared/shown-value.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import { SagaConfigurationError } from '../errors.js';

/** What somebody wants to do in the admin. */
export interface AdminAction {
  /**
   * `look`: at lists, sagas, definitions and figures. `bulk`: one of the others for all that a filter finds; that one is
   * asked about as well.
   */
  readonly kind: AdminActionKind;
  /** The saga's name; absent: at what is no saga's own. What is shown of several sagas is asked about saga by saga. */
  readonly saga?: string;
  /** Of the one saga that it is about. */
  readonly id?: string;
}

/** What an action comes to: looking, many at once, or a call to a saga. */
export type AdminActionKind = 'look' | 'bulk' | OperatorAction;

/** What can be done to a saga. */
export type OperatorAction =
  'cancel' | 'abort' | 'undo' | 'retry' | 'skip' | 'pause' | 'resume' | 'signal' | 'approve' | 'reject';

/** What `SagaAdminModule` takes, or what its factory returns. */
export interface SagaAdminModuleOptions {
  /**
   * Whoever the guards let in: may they do this? `request` is that of the HTTP platform (express, fastify), with whatever
   * the guards left on it. Default: they may do everything.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each platform has its own, and guards add to it
  authorize?: (action: AdminAction, request: any) => boolean | Promise<boolean>;
  /**
   * Who acts, as it is recorded in the saga's history; 1 to 200 characters. Default: who they say they are, which nobody
   * has checked.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as above
  operator?: (request: any) => string | Promise<string>;
  /** Origins whose pages may act, such as `https://ops.example.com`, beside the admin's own. Default: none. */
  origins?: readonly string[];
  /** Shown in the dashboard's head, to tell one system from another, such as `production`. Default: none. */
  title?: string;
}

/** What has to be known when routes are made, and so stands beside a factory. */
export interface SagaAdminRoutes {
  /** Of the dashboard, and of all routes; below a global prefix if there is one. Default `'sagas'`. */
  path?: string;
  /**
   * Who may come in at all: guards, as `@UseGuards()` takes them. `[]`, in so many words, lets everybody in: for machines
   * that nobody else can reach.
   */
  guards: readonly (CanActivate | Type<CanActivate>)[];
  /** `false`: REST alone. Default true. */
  dashboard?: boolean;
  /** Modules with what the guards inject. Default: none. */
  imports?: ModuleMetadata['imports'];
}

export type ResolvedAdminOptions = SagaAdminModuleOptions & { readonly origins: readonly string[] };

export const DEFAULT_PATH = 'sagas';
const OPTIONS = ['authorize', 'operator', 'origins', 'title'] satisfies (keyof SagaAdminModuleOptions)[];
/** No spaces, parameters or wildcards; they would be the router's. */
const PATH = /^[\w.~-]+(\/[\w.~-]+)*$/;

/**
 * The options with their defaults.
 * @throws SagaConfigurationError naming everything that is wrong at once, with the value given and the mend
 */
export function withAdminDefaults(
  given: SagaAdminModuleOptions,
  routes: Partial<SagaAdminRoutes>,
): ResolvedAdminOptions {
  const problems: string[] = [];
  const report = (problem: string, mend: string): void => void problems.push(textOfFlaw({ problem, mend }));
  let options: SagaAdminModuleOptions = {};
  let origins: readonly string[] = [];
  try {
    checkRoutes(routes, report);
    const read = new OptionReader(report);
    options = read.options(given, OPTIONS);
    read.function(options.authorize, 'authorize');
    read.function(options.operator, 'operator');
    origins = readOrigins(options.origins, report);
    if (options.title !== undefined && typeof options.title !== 'string')
      report(`title is ${shown(options.title)}`, 'give a string');
  } catch (error) {
    problems.push(`the options could not be read: ${serializeError(error).message}`);
  }
  if (problems.length > 0)
    throw new SagaConfigurationError(`SagaAdminModule.register: ${textOfProblems(problems)}`);
  return { ...options, origins };
}

/** The path without slashes around it; one that cannot be is reported by withAdminDefaults. */
export function pathOf({ path = DEFAULT_PATH }: Partial<SagaAdminRoutes>): string {
  return typeof path === 'string' ? path.replace(/^\/+|\/+$/g, '') : DEFAULT_PATH;
}

/** What is no guard is reported by withAdminDefaults. */
export function guardsOf({ guards }: Partial<SagaAdminRoutes>): NonNullable<typeof guards> {
  const given: unknown = guards;
  return Array.isArray(given) && given.every(isGuard) ? guards! : [];
}

type Report = (problem: string, mend: string) => void;

function checkRoutes(routes: Partial<SagaAdminRoutes>, report: Report): void {
  const { path, guards } = routes;
  if ((path !== undefined && typeof path !== 'string') || !PATH.test(pathOf(routes)))
    report(`path is ${shown(path)}`, "give a path such as 'sagas' or 'ops/sagas'");
  if (guards === undefined)
    report(
      'there are no guards, so that anyone who reaches these routes could read and cancel every saga',
      'give guards: [YourAuthGuard], or guards: [] if only operators can reach them',
    );
  else if (!Array.isArray(guards) || !guards.every(isGuard))
    report(`guards is ${shown(guards)}`, 'give an array of guards, as @UseGuards() takes them');
}

function isGuard(guard: unknown): boolean {
  return (
    typeof guard === 'function' || typeof (guard as Partial<CanActivate> | null)?.canActivate === 'function'
  );
}

function readOrigins(given: unknown, report: Report): readonly string[] {
  if (given === undefined) return [];
  const isOrigin = (one: unknown) =>
    typeof one === 'string' && URL.canParse(one) && new URL(one).origin === one;
  if (Array.isArray(given) && given.every(isOrigin)) return given as string[];
  report(
    `origins is ${shown(given)}`,
    "give an array of origins without paths, such as ['https://ops.example.com']",
  );
  return [];
}

import jsonata, { type JsonataError } from 'jsonata';
import type { Place } from '../declared-saga.error.js';
import { type Report, suggestion } from 'nestjs-durable-saga/internal';
import type { Scope } from './scope.js';

/** A checked JSONata expression of a file. */
export interface Expression {
  readonly source: string;
  readonly at: Place;
  /** The names of the scope that its text contains: what it is evaluated with. */
  readonly names: readonly string[];
  /** The variables and secrets that it uses. */
  readonly env: readonly string[];
  readonly secrets: readonly string[];
  /** The names of a plain path: `input.sku`. Undefined: it is anything else. */
  readonly path?: readonly string[];
}

/** The longest expression, in characters. */
const LONGEST = 10_000;
/** Functions whose value differs from call to call. */
const UNREPEATABLE = ['now', 'millis', 'random', 'shuffle'];

/** The types of JSONata do not list all of its nodes. */
interface Ast {
  readonly type: string;
  readonly value?: unknown;
  readonly [key: string]: unknown;
}

/** Checks an expression. Undefined: it is invalid, and that was reported. */
export function compileExpression(
  source: string,
  at: Place,
  scope: Scope,
  report: Report,
): Expression | undefined {
  if (source.length > LONGEST) {
    report(`the expression has ${source.length} characters`, `the limit is ${LONGEST}`);
    return undefined;
  }
  let ast: Ast;
  try {
    ast = jsonata(source).ast() as unknown as Ast;
  } catch (error) {
    const { message, position } = error as JsonataError;
    const where = position === undefined ? '' : ` at character ${position} of the expression`;
    report(`${lowerFirst(message)}${where}`, 'Correct the JSONata expression');
    return undefined;
  }
  const walk = new ScopeWalk(scope, report);
  walk.visit(ast, true);
  return {
    ...{ source, at, env: [...walk.env], secrets: [...walk.secrets] },
    names: scope.names.filter((name) => source.includes(name)),
    path: plainPathOf(ast),
  };
}

const PLAIN = new Set(['type', 'steps', 'value', 'position']);

/** Nothing of JSONata but names with dots between them: no filters, no functions, no order. */
function plainPathOf(ast: Ast): string[] | undefined {
  const nodes = ast.type === 'path' ? [ast, ...(ast.steps as Ast[])] : [];
  const [, ...names] = nodes;
  const isPlain = nodes.every((node) => Object.keys(node).every((key) => PLAIN.has(key)));
  if (names.length === 0 || !isPlain || !names.every(({ type }) => type === 'name')) return undefined;
  return names.map(({ value }) => String(value));
}

/**
 * Finds the names that an expression reads from its root. JSONata moves the root inside of a path, where names are those
 * of the user's data and are not checked.
 */
class ScopeWalk {
  readonly env = new Set<string>();
  readonly secrets = new Set<string>();

  constructor(
    private readonly scope: Scope,
    private readonly report: Report,
  ) {}

  visit(node: unknown, isRoot: boolean): void {
    if (Array.isArray(node)) return node.forEach((one) => this.visit(one, isRoot));
    if (typeof node !== 'object' || node === null) return;
    const ast = node as Ast;
    if (ast.type === 'path') return this.visitPath(ast.steps as Ast[], ast, isRoot);
    if (ast.type === 'name' && isRoot) this.checkName(ast, undefined);
    if (ast.type === 'variable') this.checkFunction(String(ast.value));
    // `a ~> |b|{…}|` applies to what it is given, and not to the root.
    this.visitChildren(ast, isRoot && ast.type !== 'transform');
  }

  private visitPath(steps: readonly Ast[], path: Ast, isRoot: boolean): void {
    const [first, ...others] = steps;
    const isExplicit = first?.type === 'variable' && first.value === '$';
    const named = isExplicit ? others[0] : isRoot ? first : undefined;
    if (named?.type === 'name') this.checkName(named, steps[steps.indexOf(named) + 1]);
    if (first && first.type !== 'name') this.visit(first, isRoot);
    else if (first) this.visitChildren(first, false);
    for (const step of others) {
      if (step.type === 'name') this.visitChildren(step, false);
      else this.visit(step, false);
    }
    this.visit(path.group, false);
  }

  private visitChildren(ast: Ast, isRoot: boolean): void {
    for (const [key, child] of Object.entries(ast)) {
      // Filters and sort terms see an item of the path.
      const isInside = ['stages', 'predicate', 'group', 'terms'].includes(key);
      if (key !== 'value') this.visit(child, isRoot && !isInside);
    }
  }

  private checkName({ value }: Ast, next: Ast | undefined): void {
    const name = String(value);
    const { names, secret } = this.scope;
    if (name === 'env' || name === 'secrets') {
      if (!secret) {
        this.report(
          `${name} cannot be used here, because the value is stored`,
          'use it in http and exec only',
        );
      } else if (next?.type === 'name') this[name].add(String(next.value));
      else this.report(`${name} is used without a name`, `Write ${name}.<name>`);
    } else if (!names.includes(name)) {
      const fix = suggestion(name, names, `The names here are: ${names.join(', ')}`);
      this.report(`unknown name '${name}' in the expression`, fix);
    }
  }

  private checkFunction(name: string): void {
    if (name === 'eval') this.report('$eval cannot be used, because its text is not checked', 'remove it');
    if (this.scope.repeatable && UNREPEATABLE.includes(name))
      this.report(
        `$${name} cannot be used here, because it differs from call to call`,
        'use values of the saga',
      );
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

import jsonata from 'jsonata';
import type { Located } from '../source/located.js';
import type { ReportAt } from '../source/parse-source.js';
import type { Place } from '../declared-saga.error.js';
import { compileExpression, type Expression } from './expression.js';
import type { Scope } from './scope.js';

/** A value of a file, in whose texts `{{ … }}` are expressions. */
export type Template =
  | { readonly kind: 'constant'; readonly value: string | number | boolean | null }
  /** A text that is one expression has its value. */
  | { readonly kind: 'value'; readonly expression: Expression }
  /** A text with expressions in it. */
  | TextTemplate
  | { readonly kind: 'list'; readonly items: readonly Template[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, Template])[] };

export interface TextTemplate {
  readonly kind: 'text';
  readonly parts: readonly (string | Expression)[];
}

/** Expressions in one text. */
const MOST_EXPRESSIONS = 50;
/** Braces that are tried as the end of an expression, since `}}` may be a part of it. */
const MOST_ENDS = 20;

export interface TemplateContext {
  readonly report: ReportAt;
}

/** Compiles a value. An invalid expression is reported, and the template must not be used. */
export function compileTemplate(node: Located, scope: Scope, context: TemplateContext): Template {
  if (node.kind === 'list')
    return { kind: 'list', items: node.items.map((item) => compileTemplate(item, scope, context)) };
  if (node.kind === 'map') {
    const entries = node.entries.map(
      ({ key, value }) => [key, compileTemplate(value, scope, context)] as const,
    );
    return { kind: 'map', entries };
  }
  if (typeof node.value !== 'string') return { kind: 'constant', value: node.value };
  const { parts } = compileText(node.value, node.at, scope, context);
  const [only = ''] = parts;
  if (parts.length > 1) return { kind: 'text', parts };
  return typeof only === 'string' ? { kind: 'constant', value: only } : { kind: 'value', expression: only };
}

export function compileText(text: string, at: Place, scope: Scope, context: TemplateContext): TextTemplate {
  const report = (problem: string, fix: string): void => context.report(at, problem, fix);
  const parts: (string | Expression)[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    if (open < 0) break;
    if (open > from) parts.push(text.slice(from, open));
    const end = endOf(text, open + 2);
    if (end < 0) {
      report("'{{' has no '}}'", "close the expression, or write {{ '{{' }} for the braces themselves");
      return { kind: 'text', parts: [] };
    }
    const source = text.slice(open + 2, end).trim();
    const expression = compileExpression(source, at, scope, report);
    if (expression) parts.push(expression);
    from = end + 2;
    if (parts.length > 2 * MOST_EXPRESSIONS) {
      report(
        `the text has more than ${MOST_EXPRESSIONS} expressions`,
        'combine them with & in one expression',
      );
      return { kind: 'text', parts: [] };
    }
  }
  if (from < text.length) parts.push(text.slice(from));
  return { kind: 'text', parts };
}

/** The first `}}` before which the text is an expression, or the first one at all; -1: there is none. */
function endOf(text: string, from: number): number {
  const first = text.indexOf('}}', from);
  let end = first;
  for (let tries = 0; end >= 0 && tries < MOST_ENDS; tries += 1) {
    if (isExpression(text.slice(from, end))) return end;
    // Of `}}}` the last two may be the end.
    end = text.indexOf('}}', end + 1);
  }
  return first;
}

function isExpression(source: string): boolean {
  try {
    jsonata(source);
    return true;
  } catch {
    return false;
  }
}

/** All expressions of a template, or of an object, a list or a map that contains templates, in order. */
export function expressionsOf(value: unknown): Expression[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('source' in value) return [value as Expression];
  const parts: unknown[] = value instanceof Map ? [...value.values()] : Object.values(value);
  return parts.flatMap(expressionsOf);
}

/** A text as the file has it, without values: these may be secret. */
export function writtenText({ parts }: TextTemplate): string {
  return parts.map((part) => (typeof part === 'string' ? part : `{{ ${part.source} }}`)).join('');
}

/** Returns the value of a template, given the value of each of its expressions. */
export function filled(template: Template, valueOf: (expression: Expression) => unknown): unknown {
  switch (template.kind) {
    case 'constant':
      return template.value;
    case 'value':
      return valueOf(template.expression);
    case 'text':
      return filledText(template, valueOf);
    case 'list':
      return template.items.map((item) => filled(item, valueOf) ?? null);
    case 'map':
      return Object.fromEntries(template.entries.map(([key, value]) => [key, filled(value, valueOf)]));
  }
}

export function filledText({ parts }: TextTemplate, valueOf: (expression: Expression) => unknown): string {
  return parts.map((part) => (typeof part === 'string' ? part : textOf(valueOf(part), part))).join('');
}

/** An expression without a value in a text: the text would be another one than is meant. */
export class NoValueError extends Error {
  constructor(readonly expression: Expression) {
    super(`the expression '${expression.source}' has no value`);
  }
}

/** @throws NoValueError */
export function textOf(value: unknown, expression: Expression): string {
  if (value === undefined || value === null) throw new NoValueError(expression);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

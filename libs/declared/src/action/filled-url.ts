import { ExpressionError } from '../expression/evaluator.js';
import type { Expression } from '../expression/expression.js';
import { textOf, type TextTemplate } from '../expression/template.js';

/**
 * The URL of a request. The value of an expression at its beginning is a part of a URL. All others are percent-encoded, and
 * so cannot add to the path.
 * @throws ExpressionError if such a value makes a part of the path empty, or `.` or `..`: the request would go to another path
 */
export function filledUrl({ parts }: TextTemplate, valueOf: (expression: Expression) => unknown): string {
  const encoded: { readonly expression: Expression; readonly from: number }[] = [];
  let url = '';
  parts.forEach((part, n) => {
    const text = typeof part === 'string' ? part : textOf(valueOf(part), part);
    if (n > 0 && typeof part !== 'string') encoded.push({ expression: part, from: url.length });
    url += n > 0 && typeof part !== 'string' ? encodeURIComponent(text.toWellFormed()) : text;
  });
  for (const { expression, from } of encoded) {
    const segment = segmentAt(url, from)?.replace(/%2e/gi, '.');
    if (segment === '' || segment === '.' || segment === '..')
      throw new ExpressionError(expression, `its value makes '${segment}' a part of the path of a URL`);
  }
  return url;
}

/** The part of the path that contains this place. Undefined: the place is not in the path. */
function segmentAt(url: string, place: number): string | undefined {
  const path = url.indexOf('/', url.indexOf('://') + 3);
  const [before] = url.split(/[?#]/, 1);
  if (path < 0 || place <= path || place > before!.length) return undefined;
  const from = url.lastIndexOf('/', place - 1) + 1;
  return before!.slice(from).split('/', 1)[0];
}

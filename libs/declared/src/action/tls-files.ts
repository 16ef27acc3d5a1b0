import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Expression } from '../expression/expression.js';
import { filledText, type TextTemplate } from '../expression/template.js';
import type { HttpDefinition } from '../format/call-format.js';

/** `tls` of a request: each is the path of a file, or a text in PEM format. */
type TlsDefinition = NonNullable<HttpDefinition['tls']>;

/** Texts in PEM format. */
export type TlsFiles = { readonly [K in keyof TlsDefinition]?: string };

/** Whether a text is a certificate or a key, and not a path. */
export function isPem(text: string): boolean {
  return text.includes('-----BEGIN ');
}

/**
 * Reads the files for each call, so that a certificate can be renewed while sagas run.
 * @param refuse makes the error of a file that cannot be read
 */
export function readTlsFiles(
  tls: TlsDefinition,
  folder: string,
  valueOf: (expression: Expression) => unknown,
  refuse: (problem: string) => Error,
): TlsFiles {
  const files = Object.entries(tls as Readonly<Record<string, TextTemplate>>).map(([name, template]) => {
    const text = filledText(template, valueOf);
    if (isPem(text)) return [name, text];
    try {
      return [name, readFileSync(resolve(folder, text), 'utf8')];
    } catch (error) {
      throw refuse(`the file of tls.${name} cannot be read: ${(error as Error).message}`);
    }
  });
  return Object.fromEntries(files) as TlsFiles;
}

import { shown } from '../shared/shown-value.js';
import { CODEC_RULE, isCodec, type PayloadCodec } from '../store/coded/payload-codec.js';
import { option, type ValuesOf } from './command.js';
import { importFile } from './import-file.js';
import { CannotTell, UsageError } from './usage-error.js';

export const CODEC_OPTION = {
  codec: option.text(
    '<file>',
    "the compiled file whose default export is the applications' codec, or a function that returns it",
  ),
} as const;

/** @throws UsageError when the file is not there, or has no codec */
export async function readCodec({
  codec: file,
}: ValuesOf<typeof CODEC_OPTION>): Promise<PayloadCodec | undefined> {
  if (file === undefined) return undefined;
  const { path, exported: module } = await importFile(file);
  const { default: exported } = module;
  // Of CommonJS that was compiled from a module, the default export has one of its own.
  const given = (exported as { default?: unknown } | undefined)?.default ?? exported;
  const codec: unknown = typeof given === 'function' ? await (given as () => unknown)() : given;
  if (codec === undefined) throw new UsageError(`${path} has no default export`);
  if (!isCodec(codec)) throw new UsageError(`${path}: codec is ${shown(codec)}; ${CODEC_RULE}`);
  return codec as PayloadCodec;
}

/**
 * What the applications would have encoded is not stored as it is.
 * @param what was given: `<input>`; undefined: nothing
 */
export function checkEncoded(
  {
    isCoded,
    running,
  }: { readonly isCoded: boolean; readonly running: { readonly options: { readonly codec?: unknown } } },
  what: string | undefined,
): void {
  if (what === undefined || !isCoded || running.options.codec) return;
  throw new CannotTell(
    `${what} would be stored unencoded, but the applications encode their values. Give their codec as --codec <file>`,
    'SAGA_CODEC',
  );
}

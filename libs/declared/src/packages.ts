import type { Ajv2020 } from 'ajv/dist/2020.js';
import type * as opentelemetry from '@opentelemetry/api';
import type jsonata from 'jsonata';
import type * as undici from 'undici';
import type * as yaml from 'yaml';
import { SagaConfigurationError } from 'nestjs-durable-saga';
import { ifInstalled } from 'nestjs-durable-saga/internal';

/** The packages that declared sagas require. They are optional peers, loaded when the first file is read. */
const PACKAGES = ['yaml', 'jsonata', 'undici', 'ajv'] as const;

export interface Packages {
  readonly yaml: typeof yaml;
  readonly jsonata: typeof jsonata;
  readonly undici: typeof undici;
  readonly Ajv: typeof Ajv2020;
  /** Undefined: it is not installed, and nothing is traced. */
  readonly opentelemetry: typeof opentelemetry | undefined;
}

let loading: Promise<Packages> | undefined;

/** @throws SagaConfigurationError that names the packages to install */
export function loadPackages(): Promise<Packages> {
  loading ??= load();
  return loading;
}

/** By a literal name each, so that bundlers find them, and with a `catch`, so that these do not insist on them. */
async function load(): Promise<Packages> {
  const [yaml, jsonata, undici, ajv, opentelemetry] = await Promise.all([
    import('yaml').catch(ifInstalled),
    import('jsonata').catch(ifInstalled),
    import('undici').catch(ifInstalled),
    import('ajv/dist/2020.js').catch(ifInstalled),
    import('@opentelemetry/api').catch(ifInstalled),
  ]);
  if (yaml && jsonata && undici && ajv)
    return { yaml, undici, jsonata: jsonata.default, Ajv: ajv.Ajv2020, opentelemetry };
  const missing = PACKAGES.filter((_, n) => ![yaml, jsonata, undici, ajv][n]);
  throw new SagaConfigurationError(
    `Declared sagas require ${PACKAGES.join(', ')}; not installed: ${missing.join(', ')}. ` +
      `Run npm install ${missing.join(' ')}.`,
  );
}

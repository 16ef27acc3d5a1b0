import { SagaConfigurationError } from '../../../errors.js';

/** The session attributes that a server must have, as in libpq. */
export const SESSION_ATTRIBUTES = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const;
export type SessionAttributes = (typeof SESSION_ATTRIBUTES)[number];

/** A database on one of several servers. */
export interface SeveralHosts {
  /** One URL for each host, in the order of the connection string. */
  readonly urls: readonly [string, ...string[]];
  /** Which of the servers is used. */
  readonly attributes: SessionAttributes;
}

const URL_OF_HOSTS = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#@]*,[^/?#@]*)((?:[/?#].*)?)$/s;

/**
 * Reads a connection string with several hosts: `postgres://user@a:5432,b:5432/db?target_session_attrs=read-write`.
 * Undefined: it has one host, and pg reads it.
 * @throws SagaConfigurationError if target_session_attrs is not one of `SESSION_ATTRIBUTES`, or a host is empty
 */
export function severalHosts(connectionString: string): SeveralHosts | undefined {
  const [, before, hosts, after] = URL_OF_HOSTS.exec(connectionString) ?? [];
  if (before === undefined || hosts === undefined || after === undefined) return undefined;
  const urls = hosts.split(',').map((host) => before + host + after);
  if (hosts.split(',').includes('') || !urls.every((url) => URL.canParse(url)))
    throw new SagaConfigurationError(
      `The hosts '${hosts}' of the connection string are invalid. Give hosts such as a.example.com:5432,b.example.com:5432.`,
    );
  const given = new URL(urls[0]!).searchParams.get('target_session_attrs') ?? 'any';
  const attributes = SESSION_ATTRIBUTES.find((one) => one === given);
  if (attributes) return { urls: urls as [string, ...string[]], attributes };
  throw new SagaConfigurationError(
    `target_session_attrs is '${given}', which is not supported. Give one of ${SESSION_ATTRIBUTES.join(', ')}.`,
  );
}

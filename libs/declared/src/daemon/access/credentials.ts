import { createHash, timingSafeEqual } from 'node:crypto';
import { SagaConfigurationError } from 'nestjs-durable-saga';

/**
 * What a caller may do. `viewer`: read. `client`: also start sagas and send signals, as a program does. `operator`:
 * everything, approvals included.
 */
export type Role = 'viewer' | 'client' | 'operator';

/** Who sent a request. */
export interface Caller {
  /** Undefined: the daemon has no authentication. */
  readonly name?: string;
  readonly role: Role;
}

interface Credential {
  readonly caller: Caller;
  /** SHA-256 of the token. */
  readonly digest: Buffer;
}

const ROLES: readonly Role[] = ['viewer', 'client', 'operator'];
/** Characters of a token: fewer can be guessed. */
const SHORTEST_TOKEN = 16;
const DIGEST = /^sha256:([0-9a-f]{64})$/i;
/** As long as the name of an operator in the history of a saga. */
const NAME = /^[\w.@-]{1,200}$/;

/** Tokens, and who has them. A token is sent as a bearer token, or as the password of its name (basic authentication). */
export class Credentials {
  private constructor(private readonly all: readonly Credential[]) {}

  /**
   * Reads a file of tokens: on each line a name, a role and a token, with spaces between them. `#` begins a comment. In
   * the place of a token, `sha256:` and the hexadecimal digest of the token can be given.
   * @throws SagaConfigurationError that names all invalid lines, and shows no token
   */
  static read(text: string, file: string): Credentials {
    const problems: string[] = [];
    const lines = text.split(/\r?\n/).map((line) => line.replace(/(^|\s)#.*/, '').trim());
    const all: Credential[] = [];
    lines.forEach((line, n) => {
      if (line === '') return;
      const read = readLine(line);
      const flaw = typeof read === 'string' ? read : doubleOf(read, all);
      if (flaw === undefined) all.push(read as Credential);
      else problems.push(`${file}:${n + 1}: ${flaw}`);
    });
    if (problems.length === 0 && all.length === 0)
      problems.push(`${file} has no token; write lines of a name, a role and a token`);
    if (problems.length > 0) throw new SagaConfigurationError(`${problems.join('. ')}.`);
    return new Credentials(all);
  }

  /**
   * One token, of an operator.
   * @param from where the token is from, for the message
   * @throws SagaConfigurationError if the token is too short
   */
  static of(token: string, from: string): Credentials {
    const flaw = flawOf(token);
    if (flaw !== undefined) throw new SagaConfigurationError(`${from}: ${flaw}.`);
    return new Credentials([credentialOf({ name: 'operator', role: 'operator' }, token)]);
  }

  /** These and those. */
  with(others: Credentials): Credentials {
    return new Credentials([...this.all, ...others.all]);
  }

  /** Returns who sent this header `authorization`. Undefined: an unknown or wrong token, or none. */
  callerOf(header: string | undefined): Caller | undefined {
    const [, scheme = '', sent = ''] = /^(\w+) +(\S+)$/.exec(header ?? '') ?? [];
    if (scheme.toLowerCase() === 'bearer') return this.find(sent);
    if (scheme.toLowerCase() !== 'basic') return undefined;
    const [, name, token] = /^([^:]*):([^]*)$/.exec(Buffer.from(sent, 'base64').toString('utf8')) ?? [];
    return token === undefined ? undefined : this.find(token, name);
  }

  /** Compares with all of them, in the same time whichever it is. */
  private find(token: string, name?: string): Caller | undefined {
    const digest = digestOf(token);
    let found: Caller | undefined;
    for (const { caller, digest: known } of this.all)
      if (timingSafeEqual(digest, known) && (name === undefined || name === caller.name)) found ??= caller;
    return found;
  }
}

/** A second line with one token would never apply. A name can have several tokens: the old one, and the new one. */
function doubleOf({ caller, digest }: Credential, before: readonly Credential[]): string | undefined {
  if (before.some((one) => one.digest.equals(digest)))
    return 'the token is that of a line before; give another one';
  const isOther = before.some((one) => one.caller.name === caller.name && one.caller.role !== caller.role);
  return isOther ? 'the name has another role in a line before; give another name' : undefined;
}

/** What is wrong with a line is said without its words: any of them may be the token. */
function readLine(line: string): Credential | string {
  const [name, role, token, ...rest] = line.split(/\s+/);
  if (token === undefined || rest.length > 0)
    return 'write a name, a role and a token, with spaces between them';
  if (!NAME.test(name!)) return 'the name is invalid; use letters, digits, and . @ _ -';
  const known = ROLES.find((one) => one === role);
  if (!known) return `the role is unknown; give one of ${ROLES.join(', ')}`;
  return flawOf(token) ?? credentialOf({ name, role: known }, token);
}

function flawOf(token: string): string | undefined {
  if (/^sha256:/i.test(token) && !DIGEST.test(token))
    return 'sha256: must be followed by the 64 hexadecimal digits of the digest';
  if (token.length >= SHORTEST_TOKEN && !/\s/.test(token)) return undefined;
  return `the token must have at least ${SHORTEST_TOKEN} characters, and no spaces. Make one with: openssl rand -hex 24`;
}

function credentialOf(caller: Caller, token: string): Credential {
  const [, hex] = DIGEST.exec(token) ?? [];
  return { caller, digest: hex === undefined ? digestOf(token) : Buffer.from(hex, 'hex') };
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

import { isIPv6 } from 'node:net';

/** A host of `allowHosts`. */
export interface HostPattern {
  /** As URLs write it: in lower case, IPv6 addresses in brackets. */
  readonly host: string;
  /** Whether it stands for the names below `host`, and not for `host` itself. */
  readonly isSuffix: boolean;
  /** Undefined: any port. */
  readonly port: number | undefined;
}

const PARTS = /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s:/?#@[\]*%\\]+)(?::(\d{1,5}))?$/i;

/** Reads `stock.example.com`, `*.example.com`, `10.0.0.5:8080` or `[fd00::1]:443`. Undefined: it is none of these. */
export function readHostPattern(written: unknown): HostPattern | undefined {
  if (typeof written !== 'string') return undefined;
  const [, wildcard, name, port] = PARTS.exec(isIPv6(written) ? `[${written}]` : written) ?? [];
  if (name === undefined || !URL.canParse(`http://${name}`) || Number(port ?? 0) > 65_535) return undefined;
  return {
    host: hostOf(new URL(`http://${name}`)),
    isSuffix: wildcard !== undefined,
    port: port === undefined ? undefined : Number(port),
  };
}

/** The host of a URL without the dot at its end, which means the same host. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

export function matchesHost({ host, isSuffix, port }: HostPattern, url: URL): boolean {
  const asked = hostOf(url);
  const usual = url.protocol === 'https:' ? 443 : 80;
  if (port !== undefined && port !== (url.port === '' ? usual : Number(url.port))) return false;
  return isSuffix ? asked.endsWith(`.${host}`) : asked === host;
}

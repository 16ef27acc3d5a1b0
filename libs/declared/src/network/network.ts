import { lookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { SagaConfigurationError, StepRejectedError } from 'nestjs-durable-saga';
import {
  type Kind,
  OptionReader,
  type OptionTable,
  kind,
  optional,
  withDefault,
  withoutProblems,
} from 'nestjs-durable-saga/internal';
import { type AddressKind, kindOfAddress } from './address-kind.js';
import { type HostPattern, hostOf, matchesHost, readHostPattern } from './host-pattern.js';

/** Where the requests of declared sagas may go. */
export interface NetworkOptions {
  /**
   * The only hosts that requests may be sent to: `stock.example.com`, `*.example.com` (the names below it),
   * `10.0.0.5:8080`. A host that is listed may have a private address. Default: all hosts with public addresses.
   */
  allowHosts?: readonly string[];
  /**
   * Whether hosts that are not listed may have private and loopback addresses. Link-local addresses, where clouds serve
   * credentials, are refused in any case, unless `allowHosts` has the address itself. Default: false.
   */
  allowPrivate?: boolean;
}

const hosts: Kind<readonly string[], readonly HostPattern[]> = {
  read: (value, option, reader) => {
    if (!Array.isArray(value)) return reader.refuse(value, option, 'give a list of hosts');
    return value.flatMap((one: unknown) => {
      const pattern = readHostPattern(one);
      if (!pattern)
        reader.report(
          `${option} has ${JSON.stringify(one)}, which is no host`,
          'Write stock.example.com, *.example.com or 10.0.0.5:8080',
        );
      return pattern ?? [];
    });
  },
};
const NETWORK_OPTIONS = {
  allowHosts: optional(hosts),
  allowPrivate: withDefault(kind.flag, false),
} satisfies OptionTable<NetworkOptions>;

/** The addresses that a name may resolve to. */
export type Reach = 'all' | 'private' | 'public';

/** A request to a host that is not allowed. Another attempt would not change that. */
export class HostRefused extends StepRejectedError {}

const REFUSED: Readonly<Record<Reach, readonly AddressKind[]>> = {
  all: [],
  private: ['link-local'],
  public: ['link-local', 'private'],
};

/** Decides which hosts requests may be sent to. */
export class Network {
  private constructor(
    /** Undefined: no restriction. */
    private readonly rules: { readonly hosts?: readonly HostPattern[]; readonly reach: Reach } | undefined,
  ) {}

  /** @throws SagaConfigurationError */
  static of(options: NetworkOptions | undefined): Network {
    if (options === undefined) return new Network(undefined);
    return withoutProblems('declared sagas', SagaConfigurationError, (report) => {
      const read = new OptionReader(report).below(
        NETWORK_OPTIONS,
        options,
        'network',
        'an object of options',
      );
      return new Network({ hosts: read?.allowHosts, reach: read?.allowPrivate ? 'private' : 'public' });
    });
  }

  /**
   * Returns the addresses that the host of a URL may have.
   * @throws HostRefused
   */
  reachOf(url: URL): Reach {
    if (!this.rules) return 'all';
    const { hosts, reach } = this.rules;
    const host = hostOf(url);
    const address = host.replace(/^\[|\]$/g, '');
    if (hosts?.some((one) => matchesHost(one, url))) return isIP(address) ? 'all' : 'private';
    if (hosts) throw new HostRefused(`the host ${host} is not in allowHosts. Add it, or correct the URL`);
    if (!isIP(address)) return reach;
    refuseAddress(host, address, reach);
    return 'all';
  }
}

/** The resolver for connections, which refuses addresses once they are known: no later answer counts. */
export function lookupWithin(reach: Reach): LookupFunction | undefined {
  if (reach === 'all') return undefined;
  return (host, options, done) =>
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, []);
      try {
        for (const { address } of addresses) refuseAddress(host, address, reach);
      } catch (refusal) {
        return done(refusal as Error, []);
      }
      const [first] = addresses as [LookupAddress];
      if (options.all) done(null, addresses);
      else done(null, first.address, first.family);
    });
}

function refuseAddress(host: string, address: string, reach: Reach): void {
  const kind = kindOfAddress(address);
  if (!REFUSED[reach].includes(kind)) return;
  const fix =
    kind === 'private'
      ? 'Add the host to allowHosts, or set allowPrivate'
      : 'Only a request to the address itself can reach it, if allowHosts has the address';
  throw new HostRefused(`the host ${host} has a ${kind} address. ${fix}`);
}

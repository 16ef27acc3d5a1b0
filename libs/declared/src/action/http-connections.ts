import { channel } from 'node:diagnostics_channel';
import { context, propagation } from '@opentelemetry/api';
import { Agent, Client, type Dispatcher, EnvHttpProxyAgent, ProxyAgent } from 'undici';
import { HostRefused, lookupWithin, type Network, type Reach } from '../network/network.js';
import type { TlsFiles } from './tls-files.js';

/** What decides about the connection of a request. */
export interface Connecting {
  readonly url: URL;
  readonly tls: TlsFiles;
  /** Undefined: the one that the environment names, if any. */
  readonly proxy: URL | undefined;
}

interface Route {
  readonly tls: TlsFiles;
  readonly proxy: URL | undefined;
  readonly reach: Reach;
}

/** Instrumentations of undici add the trace's headers here, and a second `traceparent` would be invalid. */
const REQUESTS = channel('undici:request:create');

const CONNECT_TIMEOUT = 10_000;
/** Kept dispatchers, each with connections that are reused. */
const MOST_DISPATCHERS = 50;

/** The connections of all requests of the files that are read together. */
export class HttpConnections {
  private readonly dispatchers = new Map<string, Dispatcher>();

  constructor(
    private readonly network: Network,
    private readonly environment: Readonly<Record<string, string | undefined>>,
  ) {}

  /**
   * Returns what connects a request.
   * @throws HostRefused if the host of the request, or of its proxy, is not allowed
   */
  dispatcherFor({ url, tls, proxy }: Connecting): Dispatcher {
    const reach = this.network.reachOf(url);
    if (proxy && reach === 'public') throw proxied();
    const route = { tls, proxy, reach: proxy ? this.network.reachOf(proxy) : reach };
    const key = JSON.stringify(route);
    const known = this.dispatchers.get(key);
    const dispatcher = known ?? this.dispatcherOf(route);
    // The one that was used last is the last to go.
    this.dispatchers.delete(key);
    this.dispatchers.set(key, dispatcher);
    if (this.dispatchers.size > MOST_DISPATCHERS) this.closeOldest();
    return dispatcher;
  }

  /** The headers by which the trace of the active span goes on, as the application's propagator writes them. */
  traceHeaders(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (!REQUESTS.hasSubscribers) propagation.inject(context.active(), headers);
    return headers;
  }

  private closeOldest(): void {
    const [oldest] = this.dispatchers as Iterable<[string, Dispatcher]>;
    this.dispatchers.delete(oldest![0]);
    // It waits for its requests in progress.
    void oldest![1].close().catch(() => undefined);
  }

  private dispatcherOf({ tls, proxy, reach }: Route): Dispatcher {
    const lookup = lookupWithin(reach);
    const timeout = CONNECT_TIMEOUT;
    const connect = { timeout, ...tls, ...(lookup && { lookup }) };
    const requestTls = { timeout, ...tls };
    const toProxy = { timeout, ...(tls.ca !== undefined && { ca: tls.ca }) };
    if (proxy) {
      const proxyTls = { ...toProxy, ...(lookup && { lookup }) };
      return new ProxyAgent({ uri: proxy.href, requestTls, proxyTls });
    }
    const proxies = this.proxiesOfEnvironment();
    if (!proxies) return new Agent({ connect });
    const refusing = reach === 'public' && { clientFactory: () => this.refusingProxy() };
    return new EnvHttpProxyAgent({ ...proxies, connect, requestTls, proxyTls: toProxy, ...refusing });
  }

  private proxiesOfEnvironment() {
    const valueOf = (name: string): string =>
      this.environment[name.toLowerCase()] ?? this.environment[name] ?? '';
    const [httpProxy, httpsProxy] = [valueOf('HTTP_PROXY'), valueOf('HTTPS_PROXY')];
    if (httpProxy === '' && httpsProxy === '') return undefined;
    return { httpProxy, httpsProxy, noProxy: valueOf('NO_PROXY') };
  }

  /** Hosts that NO_PROXY excludes are connected without it. */
  private refusingProxy(): Dispatcher {
    return new Client('http://proxy.invalid', {
      connect: (_, connected) => connected(proxied(), null),
    });
  }
}

function proxied(): HostRefused {
  return new HostRefused('its proxy would resolve the host, to any address. Add the host to allowHosts');
}

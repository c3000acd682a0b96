// Netty 4.1.104: three clients talk to an echo server over channels within the process, with event loops and pooled buffers.
//
// Buffers are arrays: with buffers outside of the heap, addresses of native memory would be values of the program.
//
// maven: io.netty:netty-handler:4.1.104.Final
// expect: output
// replay: which of several connections is ready first
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalServerChannel;
import io.netty.util.concurrent.Promise;
import java.util.concurrent.TimeUnit;

public class NettyEcho {
    static final int CLIENTS = 3;
    static final int TURNS = 100;
    static final LocalAddress ADDRESS = new LocalAddress("echo");

    public static void main(String[] args) throws Exception {
        // Otherwise the number of the process and the address of the machine are part of each channel's name.
        System.setProperty("io.netty.processId", "1");
        System.setProperty("io.netty.machineId", "00:00:00:00:00:01");
        System.setProperty("io.netty.noUnsafe", "true");
        System.setProperty("io.netty.noPreferDirect", "true");
        var server = new DefaultEventLoopGroup(2);
        var clients = new DefaultEventLoopGroup(2);
        new ServerBootstrap().group(server).channel(LocalServerChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new Echo());
                    }
                }).bind(ADDRESS).sync();
        var sums = new Promise<?>[CLIENTS];
        for (int number = 0; number < CLIENTS; number++) {
            Promise<Long> sum = clients.next().newPromise();
            sums[number] = sum;
            int own = number;
            new Bootstrap().group(clients).channel(LocalChannel.class)
                    .option(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
                    .handler(new ChannelInitializer<Channel>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            channel.pipeline().addLast(new Client(own, sum));
                        }
                    }).connect(ADDRESS).sync();
        }
        for (int number = 0; number < CLIENTS; number++) {
            System.out.println("client " + number + ": " + sums[number].get());
        }
        clients.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        server.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    static class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.writeAndFlush(message);
        }
    }

    static class Client extends SimpleChannelInboundHandler<ByteBuf> {
        private final int own;
        private final Promise<Long> result;
        private int turn;
        private long sum;

        Client(int own, Promise<Long> result) {
            this.own = own;
            this.result = result;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            send(context);
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            sum = sum * 31 + message.readInt();
            if (++turn < TURNS) {
                send(context);
            } else {
                context.close();
                result.setSuccess(sum);
            }
        }

        private void send(ChannelHandlerContext context) {
            context.writeAndFlush(context.alloc().buffer(16).writeInt(turn * 100 + own));
        }
    }
}

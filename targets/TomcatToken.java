// Tomcat 9.0.85: two threads set the token that guards a naming context. The first one to do so shall keep it.
//
// Meant to be atomic: ContextAccessController.setSecurityToken. It asks a ConcurrentHashMap whether there is a token
// and then puts one there:
//
//   first   asks: there is none
//   second  asks, puts its token, and finds it accepted
//   first   puts its own: the token of the second one is not accepted any more
//
// maven: org.apache.tomcat.embed:tomcat-embed-core:9.0.85
// expect: violation ContextAccessController.setSecurityToken
// whole:  token kept as it was, token kept as it was
// torn:   token kept as it was, token lost
// or:     token lost, token kept as it was
import org.apache.naming.ContextAccessController;

public class TomcatToken {
    public static void main(String[] args) throws InterruptedException {
        var first = new Owner("first");
        var second = new Owner("second");
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println(first.outcome() + ", " + second.outcome());
    }

    static class Owner extends Thread {
        private final Object token = new Object();
        private boolean accepted;

        Owner(String name) {
            super(name);
        }

        @Override
        public void run() {
            ContextAccessController.setSecurityToken("context", token);
            accepted = ContextAccessController.checkSecurityToken("context", token);
        }

        String outcome() {
            boolean still = ContextAccessController.checkSecurityToken("context", token);
            return accepted == still ? "token kept as it was" : "token lost";
        }
    }
}

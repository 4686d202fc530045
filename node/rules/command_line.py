"""Reading a command as it is written: an argv that needs no shell, or shell text; and what runs other programs. Pure.

Nothing is parsed to permit it: a command is an argv only when a shell would read exactly the same words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

COMMAND_CHARS = 8_000

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LOOK_ALIKES = (
    "CYRILLIC",
    "GREEK",
    "ARMENIAN",
    "LATIN",
    "FULLWIDTH",
    "MATHEMATICAL",
    "NO-BREAK",
    "EN ",
    "EM ",
    "IDEOGRAPHIC SPACE",
)
_WORD = r"""(?:[A-Za-z0-9_@%+=:,./-]|'[^'\n\t]*'|"[^"$`\\!\n\t]*")+"""
_ARGV = re.compile(rf"[ \t]*{_WORD}(?:[ \t]+{_WORD})*[ \t]*")
_WORDS = re.compile(_WORD)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_VERSION = re.compile(r"(?<=[a-z])[-.]?\d[\d.]*(?:[-.](?:exe|bin))?$")


def names(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_IN_SHELLS = names(
    """
    ! . : alias bg bind break builtin case cd command continue coproc declare dirs disown do done elif else
    enable esac eval exec exit export fc fg fi for function getopts hash history if in jobs let local logout
    mapfile popd pushd read readarray readonly return select set shift shopt source suspend then time times trap
    type typeset ulimit umask unalias unset until wait while
    """
)
"""Words that mean something to a shell only."""
INTERPRETERS = names(
    """
    abcl agda airflow amm ant artisan arturo ash autoconf autoexpect autoheader autoreconf ava awk b2 bash bazelisk bb
    bc-sh bconsole bjam blender bmake boot bpftrace bpython brakeman buck buck2 bun bundle bundler bunx byebug cabal
    ccl celery chez chibi-scheme clickhouse clickhouse-client cling clisp clj clojure cmake cmd cobc conda convert coq
    coqtop coverage cpan cqlsh crash crystal cscli cscope cscript csh csi csvtool cucumber cypress d8 dagster daphne
    dart dash dc deno dialog doit dotnet drush dtrace dub duckdb dune dvips ecl elixir elvish emacs-lisp eqn erl
    escript eslint expect fab falcon ffmpeg ffplay fish flake8 flask forth gawk gforth ghci ghostscript gimp ginsh gjs
    gmake gnuplot gojq gosh gp gracket groff groovy grunt gs gst guild guile gulp gunicorn hatch hlint hypercorn
    identify idris iex influx inkscape iptables-restore ipykernel ipython ipython3 irb iwasm java jbang jekyll jest jim
    jimsh jjs jjsh joker jq jruby jrunscript jsc jshell jtag julia jupyter just jython karma kdialog kotlin kotlinc ksh
    latex latexmk lein lerna lfe litecli lua luajit lualatex luatex luigi lush m4 mage magick make mamba mariadb matlab
    mawk maxima micropython mill minitest mit-scheme mix mkdocs mksh mocha mogrify mongo mongosh mono mplayer mpv mruby
    msfconsole mutmut mycli mypy mysqlsh nawk nextflow nft ngs nickle nightwatch nim nimrod ninja nmake node nodejs
    nose2 nox nroff nu nx ocaml octave octave-cli oksh openscad osascript osqueryi pandoc pants papermill pd pdflatex
    pdftex pdksh pdm perl perl6 perlbug perldoc pgcli php php-cgi php-fpm phpdbg phpstan phpunit pic picoc pike pipenv
    playwright pmake posh povray powershell powershell_ise prefect premake premake5 prettier protractor prove pry
    ps2pdf psalm psql ptpython puma puppeteer pwsh py.test pylint pypy pyright pytest python pytype qjs r racket rackup
    rails rake raku rbash rc rdmd rebar3 redis-cli redo regina remake resque rexx rhino rollup root ros rscript rspec
    rubocop ruby runghc runhaskell sage samu sbcl sbt scala scala-cli scheme scheme48 scilab scons sh shake sidekiq
    slsh snakemake soelim sphinx-build sqlite sqlite3 sqlplus stack standardrb stap streamlit stylelint swift swiftc
    swipl symfony systemtap taskfile tasksh tbl tcc tcl tclsh tcsh tea testcafe tex tox troff truffleruby ts-node tsc
    tslint tsql tsx tup turbo unicorn unittest usql uv uvicorn vite vitest vlang vlc volatility waf wasm3 wasmer
    wasmtime wazero wdio webpack whiptail wish wp wp-cli wscript wsl xelatex xetex xmake xonsh xq xsltproc yash yq
    zenity zig zsh
    """
)
"""Programs that run what a file or an argument says."""

WRAPPERS = names(
    """
    aa-exec ab3 abduco ack acpid ag agetty anacron ansible aoss apply apport-cli apptainer asdf at autossh batch bear
    become bpftool broot bspc bubblewrap busctl bwrap caffeinate cage calife callgrind capsh catatonit catchsegv cgexec
    ch-run chamber charliecloud choom chpst chronic chroot chrt clush command coproc cpulimit crontab crun cssh daemon
    datefudge dbus-launch dbus-run-session dbus-send devbox dex diff3 direnv distrobox dmenu_run doas docker-init
    doppler dotenv dotenvx dsh dtach dumb-init dzdo eatmydata edit enroot entr env envchain envdir envuidgid et exec
    execlineb fakechroot fakeroot fakeroot-ng fakeroot-tcp faketime fcron fd fdfind fex find firejail flock foreman
    forever fswatch fzf gapplication gcore gdb gdbserver getty gio goreman gosu gpg-agent grc gtk-launch guix heaptrack
    hivemind honcho hugectl hyperfine hyprctl i3-msg i386 i686 icecc ifne incron incrontab incus inetd infisical
    inotifywait invoke-rc.d ionice kcachegrind keychain kioclient kstart ksu ladspa lckdo ld ld-linux
    ld-linux-x86-64.so ld.so ldd lddtree lf libfaketime linux-vdso linux32 linux64 lldb lldb-server login logsave
    ltrace lxc lxc-attach lxc-execute machinectl massif mcron mimeopen mips32 mise mispipe mock mosh mosh-server
    mpiexec mpirun multitail multitime ncat needrestart newgrp nice niceload nix-env nix-shell nnn nodemon nodenv nohup
    nsenter nspawn numactl numad nvm opensnoop openvt overmind parallel pasta pbuilder pdsh peco pee perf perf-record
    pexec pfexec pgrphack pkexec please pm2 ppc32 prelink prlimit proot pseudo pssh pv pyenv qemu-aarch64 qemu-arm
    qemu-x86_64 ranger rbenv reflex rg ripgrep rlwrap rofi rootlesskit rosetta rr rtkit run-mailcap run-one run-parts
    run-this-one run0 runc runcon runit runsc runscript runsv runsvdir runuser s390 s6-envdir s6-overlay-suexec
    s6-setuidgid s6-softlimit s6-svscan sbatch scan-build scanmem sccache schedtool schroot screen script scriptreplay
    sdiff see sem setarch setlock setpriv setsid setuidgid sg singularity sk slirp4netns socket softlimit sparc32
    sponge srun ssh-add ssh-agent sshfs sshpass sshuttle start-stop-daemon startx stdbuf strace su su-exec sudo
    sudoedit supervisorctl supervisord sux svlogd sway-launch swaymsg swhkd switch_root sxhkd sysdig systemd-inhibit
    systemd-nspawn systemd-run task taskset tcpserver tcpsvd teller thd time timeout tini tmux toilet toolbox torify
    torsocks trace-cmd trickle triggerhappy tsocks ucspi udocker uftrace uname26 unbuffer uncontain unshare usleep
    valgrind viddy vidir vifm vipe volta watch watchexec watchman watchmedo weston-launch wine wtype
    x-terminal-emulator x32 x86_64 xargs xbindkeys xdg-email xdg-settings xdotool xinetd xinit xvfb-run ydotool youki
    zellij zrun zsoelim
    """
)
"""Programs that run another program, which their arguments name."""

MULTIPLEXERS = names(
    """
    1password 7z 7za 7zr 7zz a2ps acme.sh adduser aee age aider aircrack-ng alacritty alien alpine amplify
    ansible-galaxy ansible-playbook apache2 apache2ctl apk apt apt-get aptitude ar argo argocd aria2c arj ark as
    ascii-xfr asciidoctor asciinema aspell asterisk at.allow aterm atom atop awesome-client aws axel az bashbug bat
    batcat bazel bconsole bettercap bindfs binwalk bootctl borg brave brew bridge bsdcpio bsdtar btop buildah bup
    busybox bw byobu bzgrep bzless bzmore bzr c++ c89 c99 cabal-install caddy cargo cargo-install cc ccache cdist cdk
    cdrecord certbot cfengine chat chef-client chef-solo chfn chisel chkconfig chrome chromium chsh clamscan clang
    clang++ claude cloudflared code codex codium colima column-ed composer consul cookiecutter copier copilot
    coredumpctl corepack coreutils cowsay cowthink cpio cpp crackmapexec crictl croc cron-apt crontabs cryptsetup csc
    csplit ctags ctr cu cupsfilter curl curlie cursor-agent cvs dar darcs dd debconf debugfs debuild delta deluser
    dhclient dhcpcd diffmerge distcc dmd dmsetup dnf dnsmasq docker docker-compose doctl dosbox dotnet-script dpkg
    dpkg-deb dpkg-reconfigure dropbear dte dumpcap duplicati duplicity dwm e2fsck earthly easy_install easyrsa eb ed
    editor ee eksctl eleventy elfedit elinks elvis emacs emacsclient emcc emerge enscript eopkg epiphany eterm ettercap
    eview evim evince ex ex.basic exiftool exim exim4 exiv2 expo facter fail2ban-client falkon fbterm fetchmail
    file-roller finch firebase firefox flatpak flatpak-spawn fluidsynth flux fluxbox fly flyctl fnm foot foremost
    fossil frpc fsck ftp ftpget fuse-overlayfs fusermount g++ gatsby gcc gcc-ar gcc-nm gcloud gcov gdc gdmd geany gedit
    gem gemini genie genisoimage getmail gfortran gh ghc ghcup git gitk gitui glab glances glow gnome-terminal go goenv
    google-chrome google-chrome-stable goose gopass gotty gpasswd gpg gpg2 gpgconf gpgsm gpgv gradle gradlew groupadd
    gsutil gtester guake gview gvim gzexe halt haproxy hashcat hatchling hcloud helix helm helmfile heroku hg highlight
    hipcc homarus hostnamectl hping3 htop http httpd httpie hub hugo hunspell hx i3 idle ifconfig ifort iftop info init
    initctl insmod install install-info inv invoke ip ipsec iptables ispell isql istioctl iw iwctl jar jarsigner javac
    jcmd jdb jed jenv jj jmacs jmap joe john journalctl jove jstack jupp k0s k3d k3s k9s kadmin kak kakoune kapp kate
    kdiff3 keepassxc-cli kexec keytool kill killall kind kitty knife konsole kopia kubectl kustomize kwrite launchctl
    lazydocker lazygit ld ld.gold ld.lld ldapmodify ldapsearch ldc2 le leafpad less lesskey lesspipe lftp lha lighttpd
    limactl links links2 linode-cli lldb-mi llm ln localectl localedef loginctl logrotate lpass luarocks lvm
    lwp-download lwp-request lwp-rget lxd lxterminal lynx lzop machinectl magic-wormhole mail maildrop mailq mailx man
    mariadb-dump mate-terminal mbsync mc mc.minio mcs mdadm mdbook mdcat meld mercurial mergerfs mesg meson metasploit
    mg mh micro microk8s microsoft-edge midori minicom minikube mkdict mkfifo mkfs mkisofs mknod mksquashfs mle mlterm
    mmv modprobe mongodump mono-csc more mosquitto most mount mount.cifs mount.fuse mousepad msbuild msgexec msgfilter
    msmtp multipass mutt mv mvn mysql mysqldump nala named nano nanobot nasl nasm nc ncat ncdu ncftp ne neomutt neovim
    nerdctl netcat nethogs netlify networkctl ng nginx ngrep ngrok nikto nix nm nmap nmcli nmh nomad npm npx nullmailer
    nvcc nvi nvim nvim.appimage nvimdiff nvs objcopy objdump oc ocamlfind offlineimap okular ollama opam open openbox
    openclaw opencode openconnect openrc openssl openssl3 openvpn opkg packer pacman pager pass passwd patch patchelf
    pax pdb pear pecl pg pgbench pico picocom pidstat pine pip pipx pivot_root pkg pkg_add pkgin pkill pluma plymouth
    pnpm pnpx podman poe poetry port portage postfix postqueue postsuper poweroff powertop pppd pre-commit prename
    prlctl procmail psftp pulumi puppet pygmentize qemacs qemu qemu-img qemu-system qmail qterminal qtile qutebrowser
    rage railway rar rc-service rcctl rclone rcp rcs rdiff-backup reboot red redis redis-server rename resolvectl
    restic rexec rlogin roxterm rpm rpm2cpio rpmbuild rpmdb rpmquery rpmverify rsh rsnapshot rsync rsyslogd rtorrent
    rtx rustc rustdoc rustup rview rvim rxvt rye rz s3cmd sakura salt salt-call sam samba-tool sash sccs scp screenie
    scrot sed sendmail sendxmpp sensible-browser sensible-editor sensible-pager serverless service setfacl sftp shred
    shutdown skaffold skopeo sl slackpkg smbclient smbmount snap snapcraft snapper socat sops sort sphinx split sqlite
    sqlmap squid ssh ssh-copy-id ssh-keygen ssh-keyscan sshd sslh ssmtp st star strongswan stunnel subl supabase surf
    sv svcadm svn swaks swanctl sway swupd sx sysctl systemctl systemd-analyze systemd-cat systemd-resolve
    systemd-tmpfiles sz tailscale talk tar tarsnap tc tcpdump tcpflow tcpreplay tdbtool tee telinit telnet terminator
    terminology termshot terraform terragrunt tftp tig tilda tilde tilix tilt timedatectl timidity tmate tmpreaper
    tmpwatch tofu top torbrowser-launcher toybox traefik transmission-cli trap tshark ttyd udevadm ul umount unbound
    uniq universal-ctags unrar unsquashfs unzip update-alternatives update-rc.d urxvt useradd usermod uucp uux uxterm
    vagrant varnishncsa vault vboxmanage vercel vi vi.basic view vigr vile vim vim.basic vim.tiny vimdiff vimtutor vimx
    vipw virsh virt-install visudo vmrun vpnc vue w3m wall weasyprint wezterm wg wg-quick wget wget2 winexe wireshark
    wkhtmltopdf wmctrl wormhole wpa_cli wpa_supplicant wrangler write write.ul www-browser x-www-browser xbps-install
    xbuild xcodebuild xcrun xdg-open xdg-user-dir xed xemacs xfce4-terminal xh xmllint xmodmap xmonad xmore xorriso
    xpad xpdf xterm xzgrep xzless xzmore yakuake yarn yarnpkg yasm yelp yeoman yo youtube-dl yt-dlp ytalk ytt yum
    zathura zegrep zfgrep zgrep zile zip zless zmore zola zypper
    """
)
"""Programs that run others by an option, a setting or a sub-command, or that send and fetch."""


class CommandRefused(ValueError):
    """A command that cannot be run as it is written; the text says why."""


@dataclass(frozen=True, slots=True)
class WrittenCommand:
    """A command.

    Attributes:
        text: The text as it was written.
        words: Program and arguments; empty for shell text.
    """

    text: str
    words: tuple[str, ...] = ()


def read_command(text: str) -> WrittenCommand:
    """Read a command.

    Raises:
        CommandRefused: It is empty, too long, or has characters that people cannot see.
    """
    if not text.strip():
        raise CommandRefused("command: it is empty")
    if len(text) > COMMAND_CHARS:
        raise CommandRefused(f"command: it has {len(text)} characters; at most {COMMAND_CHARS} can be shown and run")
    refuse_invisible("command", text)
    if not _ARGV.fullmatch(text):
        return WrittenCommand(text)
    raw = _WORDS.findall(text)
    words = tuple(_QUOTED.sub(lambda found: found[1] if found[1] is not None else found[2], each) for each in raw)
    if not words[0] or words[0] in _IN_SHELLS or "=" in words[0]:
        return WrittenCommand(text)
    return WrittenCommand(text, words)


def refuse_invisible(what: str, text: str) -> None:
    """Refuse text with control, format or private characters but tab and line feed.

    Raises:
        CommandRefused: It has one.
    """
    found = next((each for each in text if each not in "\n\t" and unicodedata.category(each) in _UNSEEN), None)
    if found is not None:
        raise CommandRefused(f"{what}: it has the invisible character U+{ord(found):04X}; write it without")


def look_alikes(text: str) -> list[str]:
    """Return the names of the characters of a text that can pass for others, each once."""
    found = (unicodedata.name(each, f"U+{ord(each):04X}") for each in dict.fromkeys(text) if not each.isascii())
    return [each for each in found if each.startswith(_LOOK_ALIKES)]


def program_name(word: str) -> str:
    """Return a program's name: without folder and version, in lower case."""
    return _VERSION.sub("", word.rpartition("/")[2].lower())


def runs_others(words: tuple[str, ...]) -> str | None:
    """Return why a command can run other programs than the named one; None if it is not known to."""
    if not words:
        return "it is shell text"
    name = program_name(words[0])
    parts = [program_name(each) for each in re.split(r"[-._]", name)]
    known = {name, words[0].rpartition("/")[2].lower(), parts[0], parts[-1]}
    for kind, which in (("interpreter", INTERPRETERS), ("wrapper", WRAPPERS), ("multi-purpose program", MULTIPLEXERS)):
        if not known.isdisjoint(which):
            return f"{name} is an {kind}" if kind == "interpreter" else f"{name} is a {kind}"
    return None

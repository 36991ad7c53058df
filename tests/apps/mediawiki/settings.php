
# What follows is added by prepare.sh. The wiki's state, in PIEME_APP, is copied for each test; its program is not.
$wgSQLiteDataDir = getenv( 'PIEME_APP' );
$wgObjectCaches[CACHE_DB]['server']['dbDirectory'] = $wgSQLiteDataDir;
$wgLocalisationCacheConf['storeServer']['dbDirectory'] = $wgSQLiteDataDir;
$wgJobTypeConf['default']['server']['dbDirectory'] = $wgSQLiteDataDir;
$wgServer = 'http://' . ( $_SERVER['HTTP_HOST'] ?? '127.0.0.1' );
$wgMainCacheType = CACHE_DB;
$wgJobRunRate = 0;
# A private wiki: whoever is not logged in reads the log-in page and nothing else.
$wgGroupPermissions['*']['read'] = false;
$wgGroupPermissions['*']['edit'] = false;
$wgGroupPermissions['*']['createaccount'] = false;
# What the test's administrator has set.
require "$wgSQLiteDataDir/admin.php";
